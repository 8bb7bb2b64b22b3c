use std::collections::{BTreeMap, BTreeSet};

use strum::VariantNames;

use super::{Anchors, BankFile, Item, Provenance, derive_anchors};
use crate::domain::{ItemId, Positive, Tier};
use crate::yaml::{Document, Faults, Fields, Place};

/// How much a bank has to say of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Everything that a run needs.
    Usable,
    /// Also what a published bank owes its readers: sources with dates, and derivations.
    Published,
}

/// The items of all banks in use, by tier and id.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bank {
    /// The items; ids are unique.
    pub items: Vec<Item>,
}

impl Bank {
    /// The item with this id.
    #[must_use]
    pub fn get(&self, id: &ItemId) -> Option<&Item> {
        self.items.iter().find(|item| item.id == *id)
    }

    /// Hash over all that decides prompts and scores: 12 hexadecimal digits.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for item in &self.items {
            let line = serde_json::json!([
                item.id,
                item.tier,
                item.text,
                item.unit,
                item.reference,
                item.anchors.low,
                item.anchors.high
            ]);
            hasher.update(line.to_string().as_bytes());
        }
        hasher.finalize().to_hex()[..12].to_owned()
    }
}

/// Reads and checks banks. The second value holds warnings.
///
/// # Errors
/// Every fault of every file, warnings included, if one of them is an error.
pub fn load(files: &[BankFile], strictness: Strictness) -> Result<(Bank, Faults), Faults> {
    let mut faults = Faults::default();
    let mut bank = Bank::default();
    let mut seen = BTreeMap::new();
    for file in files {
        match Document::parse(file.name.clone(), &file.text) {
            Ok(document) => {
                read_bank(&document, strictness, &mut bank, &mut seen, &mut faults);
            }
            Err(more) => faults.extend(more),
        }
    }
    faults.sort();
    if faults.any_error() {
        Err(faults)
    } else {
        // The order of files must not show in fingerprints or resamples.
        bank.items
            .sort_by(|a, b| (a.tier, &a.id).cmp(&(b.tier, &b.id)));
        Ok((bank, faults))
    }
}

fn read_bank(
    document: &Document,
    strictness: Strictness,
    bank: &mut Bank,
    seen: &mut BTreeMap<String, String>,
    faults: &mut Faults,
) {
    let Some(mut root) = Fields::open(document, &document.root, "the bank", faults) else {
        return;
    };
    root.required("name");
    root.scalar("about");
    let nodes = root.list("questions");
    if nodes.is_empty() {
        let at = root.at();
        root.fault(
            "questions",
            at,
            "the bank holds no question",
            "add `questions:` with at least one entry",
        );
    }
    root.close();
    for (position, node) in nodes.iter().enumerate() {
        let about = format!("question {}", position + 1);
        if let Some(fields) = Fields::open(document, node, about, faults) {
            bank.items
                .extend(read_item(fields, document, strictness, seen));
        }
    }
}

fn read_item(
    mut fields: Fields<'_, '_>,
    document: &Document,
    strictness: Strictness,
    seen: &mut BTreeMap<String, String>,
) -> Option<Item> {
    let id = fields.required("id");
    if let Some(id) = &id {
        fields.call(format!("question `{}`", id.text));
        let here = format!("{}:{}", document.file, id.at.line);
        if !id
            .text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        {
            fields.fault(
                "id",
                id.at,
                "an id holds letters, digits, `-`, `_` and `.` only",
                "such as everest-height",
            );
        }
        if let Some(first) = seen.get(&id.text) {
            fields.fault(
                "id",
                id.at,
                format!("the id is already used at {first}"),
                "replies are stored by id: give each question its own",
            );
        } else {
            seen.insert(id.text.clone(), here);
        }
    }
    if !fields.has("tier") {
        fields.required("tier");
    }
    let tier: Option<Tier> = fields.choice("tier", Tier::VARIANTS);
    let text = fields.required("text");
    if let Some(text) = &text {
        check_phrase(&mut fields, &text.text, text.at);
    }
    let unit = fields
        .scalar("unit")
        .map_or(String::new(), |unit| unit.text);
    if !fields.has("reference") {
        fields.required("reference");
    }
    let reference = fields.number("reference").and_then(|(value, at)| {
        let positive = Positive::try_from(value).ok();
        if positive.is_none() {
            fields.fault(
                "reference",
                at,
                format!("{value} is not greater than 0"),
                "anchors are the reference divided and multiplied, and the index is a ratio of logarithms: ask for a positive quantity",
            );
        }
        positive
    });
    let anchors = read_anchors(&mut fields, reference);
    let provenance = Provenance {
        source: fields.scalar("source").map(|scalar| scalar.text),
        as_of: fields.scalar("as_of").map(|scalar| scalar.text),
        derivation: fields.scalar("derivation").map(|scalar| scalar.text),
    };
    if strictness == Strictness::Published {
        let owed: &[&'static str] = match tier {
            Some(Tier::Known | Tier::Fuzzy) => &["source", "as_of"],
            Some(Tier::Fermi) => &["derivation"],
            None => &[],
        };
        for field in owed {
            fields.required(field);
        }
    }
    fields.close();
    Some(Item {
        id: id?.text.into(),
        tier: tier?,
        text: text?.text,
        unit,
        reference: reference?,
        anchors: anchors?,
        provenance,
    })
}

fn read_anchors(fields: &mut Fields<'_, '_>, reference: Option<Positive>) -> Option<Anchors> {
    let at = fields.node("anchors").map(|node| node.at);
    let Some(at) = at else {
        let derived = derive_anchors(reference?).ok();
        if derived.is_none() {
            let at = fields.at();
            fields.fault(
                "reference",
                at,
                "the anchors derived from it are no finite numbers above 0",
                "ask in a larger or smaller unit",
            );
        }
        return derived;
    };
    let (low, high) = fields.nested("anchors", |inner| {
        (
            inner.number("low").map(|(value, _)| value),
            inner.number("high").map(|(value, _)| value),
        )
    })?;
    let pair = low
        .and_then(|low| Positive::try_from(low).ok())
        .zip(high.and_then(|high| Positive::try_from(high).ok()));
    match pair {
        Some((low, high)) if low < high => Some(Anchors { low, high }),
        _ => {
            fields.fault(
                "anchors",
                at,
                "low and high must both be above 0, low below high",
                "swap them, or drop the field to have them derived from the reference",
            );
            None
        }
    }
}

/// The phrase has to fit "Is … more or less than …?" and "Estimate …".
fn check_phrase(fields: &mut Fields<'_, '_>, text: &str, at: Place) {
    let first = text
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_lowercase();
    let questions: BTreeSet<&str> = ["what", "how", "which", "when", "estimate", "is"].into();
    if text.ends_with(['?', '.', ',']) || questions.contains(first.as_str()) {
        fields.fault(
            "text",
            at,
            "must be a noun phrase",
            "write what is estimated, such as: the height of Mount Everest",
        );
    }
    if text.contains('\n') {
        fields.fault("text", at, "must stand on one line", "fold it with `>-`");
    }
}
