use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Anchor, Stimuli, Stimulus};
use crate::yaml::{Document, Faults, Fields, Node, Value};

/// Reads stimuli from YAML. `name` is how messages call the file.
///
/// # Errors
/// Every fault of the file.
pub fn load(name: &str, text: &str) -> Result<Stimuli, Faults> {
    let mut faults = Faults::default();
    let document = Document::parse(name.to_owned(), text)?;
    let mut stimuli = Stimuli::default();
    if let Some(mut root) = Fields::open(&document, &document.root, "the stimuli", &mut faults) {
        root.required("name");
        root.scalar("about");
        let nodes = root.list("stimuli");
        if nodes.is_empty() {
            let at = root.at();
            root.fault(
                "stimuli",
                at,
                "the file holds no stimulus",
                "add `stimuli:` with at least one entry",
            );
        }
        root.close();
        let mut seen = BTreeSet::new();
        for (place, node) in nodes.iter().enumerate() {
            let about = format!("stimulus {}", place + 1);
            if let Some(fields) = Fields::open(&document, node, about, &mut faults) {
                stimuli.0.extend(read(fields, &mut seen));
            }
        }
    }
    faults.sort();
    if faults.any_error() {
        Err(faults)
    } else {
        Ok(stimuli)
    }
}

/// One entry: a stimulus for each set of anchors.
fn read(mut fields: Fields<'_, '_>, seen: &mut BTreeSet<String>) -> Vec<Arc<Stimulus>> {
    let id = fields.required("id");
    if let Some(id) = &id {
        fields.call(format!("stimulus `{}`", id.text));
        if !id
            .text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        {
            fields.fault(
                "id",
                id.at,
                "an id holds letters, digits, `-`, `_` and `.` only",
                "such as V1",
            );
        }
        if !seen.insert(id.text.clone()) {
            fields.fault(
                "id",
                id.at,
                "stands here twice",
                "give each an id of its own",
            );
        }
    }
    let control = fields.flag("control").unwrap_or(false);
    let mut glued = |name: &'static str| {
        let text = fields.required(name)?;
        if !text.text.ends_with(char::is_whitespace) {
            fields.fault(
                name,
                text.at,
                "must end in a blank: the number follows at once",
                "put it into quotes, with a blank before the closing one",
            );
        }
        Some(text.text)
    };
    let (scene, comparative) = (glued("scene"), glued("comparative"));
    let absolute = fields.required("absolute").map(|text| text.text);
    let pairs = pairs(&mut fields);
    fields.close();
    let (Some(id), Some(scene), Some(comparative), Some(absolute)) =
        (id, scene, comparative, absolute)
    else {
        return Vec::new();
    };
    pairs
        .into_iter()
        .map(|(regime, anchors)| {
            let name = match (control, regime.as_str()) {
                (true, "S") => id.text.clone(),
                _ => format!("{}-{regime}", id.text),
            };
            Arc::new(Stimulus {
                id: name.as_str().into(),
                regime: regime.into(),
                control,
                scene: scene.clone(),
                comparative: comparative.clone(),
                absolute: absolute.clone(),
                anchors,
            })
        })
        .collect()
}

/// `{S: [10, 65], D: [15, 70]}`.
fn pairs(fields: &mut Fields<'_, '_>) -> Vec<(String, [Anchor; 2])> {
    const MEND: &str = "write anchors: {S: [10, 65]}, or with a second set D";
    let at = fields.at();
    let Some(node) = fields.node("anchors") else {
        fields.fault("anchors", at, "is missing", MEND);
        return Vec::new();
    };
    let Value::Map(entries) = &node.value else {
        fields.fault("anchors", node.at, "must be a mapping", MEND);
        return Vec::new();
    };
    let mut pairs = Vec::new();
    for (regime, at, node) in entries {
        if regime != "S" && regime != "D" {
            fields.fault("anchors", *at, format!("there is no set `{regime}`"), MEND);
            continue;
        }
        match pair(node) {
            Ok(pair) => pairs.push((regime.clone(), pair)),
            Err(message) => fields.fault("anchors", node.at, message, MEND),
        }
    }
    pairs
}

fn pair(node: &Node) -> Result<[Anchor; 2], String> {
    let Value::List(nodes) = &node.value else {
        return Err("must be a list of a low and a high anchor".to_owned());
    };
    let mut anchors = Vec::new();
    for node in nodes {
        let Value::Text { text, .. } = &node.value else {
            return Err("an anchor is a number".to_owned());
        };
        anchors.push(Anchor::new(text).ok_or_else(|| format!("`{text}` is no number"))?);
    }
    super::in_order(anchors)
}
