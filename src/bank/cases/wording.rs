//! The sentences that cases are told in.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{RATINGS, WordingFile};
use crate::yaml::{Document, Faults, Fields, Node, Scalar, Value};

/// Sentences of one domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    /// Id, part of the ids of its cases.
    pub id: Arc<str>,
    /// What is estimated, as it stands in a sentence.
    pub metric: String,
    /// Families of five labels, one for each rating.
    pub labels: Vec<[String; RATINGS]>,
    /// Situations.
    pub scenarios: Vec<String>,
    /// Lists of sentences by name, the shared ones too.
    pub lists: BTreeMap<String, Vec<String>>,
}

/// All sentences in use.
#[derive(Debug, Clone, Default)]
pub struct Wording {
    groups: BTreeMap<String, Vec<Arc<Domain>>>,
}

impl Wording {
    /// The domains of a group, in order; none of an unknown one.
    #[must_use]
    pub fn group(&self, name: &str) -> &[Arc<Domain>] {
        self.groups.get(name).map_or(&[], Vec::as_slice)
    }

    /// Names of the groups.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.groups.keys().map(String::as_str)
    }
}

/// Lists that every file may hold, for its domains or for all.
const LISTS: [&str; 9] = [
    "questions",
    "irrelevant",
    "placebo",
    "plausible",
    "authority",
    "mild",
    "strong",
    "documents",
    "fillers",
];

/// Reads and checks wording files. A file without domains holds what all share; a later file of the same name replaces
/// an earlier one.
///
/// # Errors
/// Every fault of every file.
pub fn load_wording(files: &[WordingFile]) -> Result<Wording, Faults> {
    let mut faults = Faults::default();
    let mut shared: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut groups: BTreeMap<String, Vec<Domain>> = BTreeMap::new();
    for file in files {
        match Document::parse(file.name.clone(), &file.text) {
            Err(more) => faults.extend(more),
            Ok(document) => {
                let Some(mut root) =
                    Fields::open(&document, &document.root, "the wording", &mut faults)
                else {
                    continue;
                };
                let name = root.required("name");
                let lists = lists(&mut root);
                let nodes = root.list("domains");
                root.close();
                let domains: Vec<Domain> = nodes
                    .iter()
                    .filter_map(|node| {
                        let fields = Fields::open(&document, node, "a domain", &mut faults)?;
                        domain(fields)
                    })
                    .collect();
                match name {
                    Some(name) if !nodes.is_empty() => {
                        groups.insert(name.text, domains);
                    }
                    _ => shared.extend(lists),
                }
            }
        }
    }
    faults.sort();
    if faults.any_error() {
        return Err(faults);
    }
    let groups = groups
        .into_iter()
        .map(|(name, domains)| {
            let domains = domains.into_iter().map(|mut domain| {
                for (name, list) in &shared {
                    domain
                        .lists
                        .entry(name.clone())
                        .or_insert_with(|| list.clone());
                }
                Arc::new(domain)
            });
            (name, domains.collect())
        })
        .collect();
    Ok(Wording { groups })
}

fn lists(fields: &mut Fields<'_, '_>) -> BTreeMap<String, Vec<String>> {
    let mut lists = BTreeMap::new();
    for name in LISTS {
        let scalars = fields.scalars(name);
        if !scalars.is_empty() {
            lists.insert(name.to_owned(), plain(fields, name, &scalars));
        }
    }
    lists
}

/// Checks that no list brings a number of its own: a number beside the anchor is an anchor too.
fn plain(fields: &mut Fields<'_, '_>, name: &str, scalars: &[Scalar]) -> Vec<String> {
    for scalar in scalars {
        let digits = scalar.text.contains(|c: char| c.is_ascii_digit());
        if digits && name != "questions" {
            fields.fault(
                name,
                scalar.at,
                "holds a number of its own, which would be an anchor too",
                "say it without digits; {anchor} stands for the anchor",
            );
        }
    }
    scalars.iter().map(|scalar| scalar.text.clone()).collect()
}

fn domain(mut fields: Fields<'_, '_>) -> Option<Domain> {
    let id = fields.required("id");
    if let Some(id) = &id {
        fields.call(format!("domain `{}`", id.text));
        let fit = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !id.text.chars().all(fit) {
            fields.fault(
                "id",
                id.at,
                "an id holds letters, digits and `_` only",
                "it becomes a part of the ids of cases, between two `-`",
            );
        }
    }
    let metric = fields.required("metric");
    let scenarios = fields.scalars("scenarios");
    let scenarios = plain(&mut fields, "scenarios", &scenarios);
    let nodes = fields.list("labels");
    let labels: Vec<[String; RATINGS]> = nodes
        .iter()
        .filter_map(|node| family(&mut fields, node))
        .collect();
    let at = fields.at();
    for (name, n) in [("scenarios", scenarios.len()), ("labels", nodes.len())] {
        if n == 0 {
            fields.fault(
                name,
                at,
                "is missing",
                "give at least one, see `wheel init` for examples",
            );
        }
    }
    let lists = lists(&mut fields);
    fields.close();
    Some(Domain {
        id: id?.text.into(),
        metric: metric?.text,
        labels: (!labels.is_empty()).then_some(labels)?,
        scenarios: (!scenarios.is_empty()).then_some(scenarios)?,
        lists,
    })
}

fn family(fields: &mut Fields<'_, '_>, node: &Node) -> Option<[String; RATINGS]> {
    let texts: Vec<String> = match &node.value {
        Value::List(labels) => labels
            .iter()
            .filter_map(|label| match &label.value {
                Value::Text { text, .. } => Some(text.clone()),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    let family = <[String; RATINGS]>::try_from(texts).ok();
    if family.is_none() {
        fields.fault(
            "labels",
            node.at,
            "a family holds five labels, one for each rating",
            "write - [first, second, third, fourth, fifth]",
        );
    }
    family
}
