use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Judged, Labelling, Matter, Message, Rubric, Text};
use crate::domain::Scale;
use crate::yaml::{Document, Faults, Fields, Node, Place, Scalar, Value};

/// Reads a rubric. What the file does not say is taken from another one; a scale of its own leaves the names of the other's
/// bands out.
///
/// # Errors
/// Every fault of the file.
pub fn load_rubric(document: &Document, otherwise: Option<&Rubric>) -> Result<Rubric, Faults> {
    let mut faults = Faults::default();
    let mut rubric = None;
    if let Some(mut root) = Fields::open(document, &document.root, "the rubric", &mut faults) {
        root.scalar("name");
        root.scalar("about");
        rubric = read_rubric(&mut root, otherwise);
        root.close();
    }
    faults.sort();
    match rubric {
        Some(rubric) if !faults.any_error() => Ok(rubric),
        _ => Err(faults),
    }
}

fn read_rubric(root: &mut Fields<'_, '_>, otherwise: Option<&Rubric>) -> Option<Rubric> {
    let has_scale = root.has("scale");
    let at = root.at();
    let scale = root.nested("scale", |fields| {
        let (from, to) = (fields.number("from"), fields.number("to"));
        let (Some((from, at)), Some((to, _))) = (from, to) else {
            let at = fields.at();
            fields.fault("scale", at, "has two ends", "write scale: {from: 0, to: 5}");
            return None;
        };
        if from >= to {
            fields.fault(
                "from",
                at,
                "must lie below `to`",
                "write scale: {from: 0, to: 5}",
            );
            return None;
        }
        Some(Scale { from, to })
    });
    let scale = match scale {
        Some(scale) => scale?,
        None => otherwise?.scale,
    };
    let threshold = root.number("threshold");
    if has_scale && threshold.is_none() {
        root.fault(
            "threshold",
            at,
            "is missing: another scale has another threshold",
            "give the lowest score that accepts a text, such as threshold: 7",
        );
    }
    let threshold_at = threshold.map_or(at, |(_, at)| at);
    let threshold = threshold
        .map(|(threshold, _)| threshold)
        .or_else(|| otherwise.map(|rubric| rubric.threshold))?;
    if threshold <= scale.from || threshold > scale.to {
        root.fault(
            "threshold",
            threshold_at,
            format!(
                "{threshold} does not lie on the scale from {} to {}, above its lowest score",
                scale.from, scale.to
            ),
            "give the lowest score that accepts a text",
        );
    }
    let bands = root.scalar("bands").map(|bands| bands.text);
    let bands = bands.unwrap_or_else(|| match otherwise {
        Some(rubric) if !has_scale => rubric.bands.clone(),
        _ => String::new(),
    });
    let system = text(
        root,
        "system",
        otherwise.map(|rubric| rubric.system.as_str()),
    );
    let rubrics = match texts(root, "rubrics") {
        own if own.is_empty() => otherwise
            .map(|rubric| rubric.rubrics.clone())
            .unwrap_or_default(),
        own => own
            .into_iter()
            .map(|(name, _, text)| (name, text))
            .collect(),
    };
    if rubrics.is_empty() {
        root.fault(
            "rubrics",
            at,
            "is missing",
            "write rubrics: and below it default: |- with what counts",
        );
    }
    let other = otherwise.map(|rubric| &rubric.labelling);
    let labelling = root.nested("labelling", |fields| read_labelling(fields, other));
    let labelling = match labelling {
        Some(own) => own?,
        None => other?.clone(),
    };
    Some(Rubric {
        scale,
        threshold,
        bands,
        system: system?,
        rubrics,
        labelling,
    })
}

fn read_labelling(fields: &mut Fields<'_, '_>, otherwise: Option<&Labelling>) -> Option<Labelling> {
    let at = fields.at();
    let system = text(
        fields,
        "system",
        otherwise.map(|other| other.system.as_str()),
    );
    let own = texts(fields, "labels");
    let guide = fields.scalar("guide").map(|guide| guide.text);
    // A guide speaks of its labels.
    let guide = guide.or_else(|| {
        let other = otherwise.filter(|_| own.is_empty());
        other.map(|other| other.guide.clone())
    });
    let labels: Vec<(Arc<str>, String)> = if own.is_empty() {
        otherwise
            .map(|other| other.labels.clone())
            .unwrap_or_default()
    } else {
        own.into_iter()
            .map(|(name, _, text)| (name.into(), text))
            .collect()
    };
    if labels.len() < 2 {
        fields.fault(
            "labels",
            at,
            "fewer than two labels leave nothing to choose",
            "write labels: and below it a line name: meaning for each",
        );
    }
    Some(Labelling {
        system: system?,
        guide: guide.unwrap_or_default(),
        labels,
    })
}

/// A text that must be in the file or in the other one.
fn text(
    fields: &mut Fields<'_, '_>,
    name: &'static str,
    otherwise: Option<&str>,
) -> Option<String> {
    if otherwise.is_some() && fields.node(name).is_none() {
        return otherwise.map(str::to_owned);
    }
    fields.required(name).map(|text| text.text)
}

/// A mapping of names to texts, in order.
fn texts(fields: &mut Fields<'_, '_>, name: &'static str) -> Vec<(String, Place, String)> {
    let mut found = Vec::new();
    let Some(node) = fields.node(name) else {
        return found;
    };
    let Value::Map(entries) = &node.value else {
        fields.fault(
            name,
            node.at,
            "must be a mapping",
            "write a line name: text for each",
        );
        return found;
    };
    for (key, at, node) in entries {
        match &node.value {
            Value::Text { text, .. } if !text.trim().is_empty() => {
                found.push((key.clone(), *at, text.clone()));
            }
            _ => fields.fault(
                name,
                *at,
                format!("`{key}` must be a text"),
                "write it behind the name",
            ),
        }
    }
    found
}

/// What a file of one's own holds to be judged; `None` of a kind that it does not speak of.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Own {
    /// Texts.
    pub texts: Option<Vec<Arc<Judged>>>,
    /// Messages.
    pub messages: Option<Vec<Arc<Judged>>>,
}

/// Reads texts and messages. A table holds the one or the other: messages have the column `truth`.
///
/// # Errors
/// Every fault of the file: a label outside the set, an id that stands there twice, a category without a rubric.
pub fn load_texts(document: &Document, rubric: &Arc<Rubric>) -> Result<Own, Faults> {
    let mut faults = Faults::default();
    let mut own = Own::default();
    let mut reader = Reader {
        document,
        rubric,
        faults: &mut faults,
    };
    match &document.root.value {
        Value::List(rows) if rows.iter().any(has_truth) => {
            own.messages = Some(reader.messages(rows));
        }
        Value::List(rows) => own.texts = Some(reader.texts(rows)),
        _ => {
            if let Some(mut root) =
                Fields::open(document, &document.root, "the file", reader.faults)
            {
                root.scalar("name");
                root.scalar("about");
                let has = ["texts", "messages"].map(|kind| root.has(kind));
                let (texts, messages) = (root.list("texts"), root.list("messages"));
                if has == [false, false] {
                    let at = root.at();
                    root.fault(
                        "texts",
                        at,
                        "the file holds nothing to be judged",
                        "add `texts:` or `messages:` with at least one entry",
                    );
                }
                root.close();
                own.texts = has[0].then(|| reader.texts(texts));
                own.messages = has[1].then(|| reader.messages(messages));
            }
        }
    }
    let empty = own.texts.as_ref().is_some_and(Vec::is_empty)
        || own.messages.as_ref().is_some_and(Vec::is_empty);
    if empty && !faults.any_error() {
        faults.0.push(document.fault(
            document.root.at,
            None,
            "a list holds no entry",
            "of a text give id, category, assignment and answer; of a message id, text and truth",
        ));
    }
    faults.sort();
    if faults.any_error() {
        Err(faults)
    } else {
        Ok(own)
    }
}

fn has_truth(row: &Node) -> bool {
    matches!(&row.value, Value::Map(entries) if entries.iter().any(|(name, ..)| name == "truth"))
}

struct Reader<'a, 'f> {
    document: &'a Document,
    rubric: &'a Arc<Rubric>,
    faults: &'f mut Faults,
}

impl<'a> Reader<'a, '_> {
    fn texts(&mut self, nodes: &'a [Node]) -> Vec<Arc<Judged>> {
        let rubric = Arc::clone(self.rubric);
        self.each(nodes, "text", |fields, id| {
            let category = fields.required("category");
            let (assignment, answer) = (fields.required("assignment"), fields.required("answer"));
            let category = category?;
            if rubric.of(&category.text).is_empty() {
                let names: Vec<&str> = rubric.rubrics.keys().map(String::as_str).collect();
                fields.fault(
                    "category",
                    category.at,
                    format!(
                        "there is no rubric for `{}`, and no default one",
                        category.text
                    ),
                    format!("there are {}", names.join(", ")),
                );
            }
            Some(Matter::Text(Text {
                id: id.into(),
                category: category.text.into(),
                assignment: assignment?.text,
                answer: answer?.text,
            }))
        })
    }

    fn messages(&mut self, nodes: &'a [Node]) -> Vec<Arc<Judged>> {
        let labels: BTreeMap<String, Arc<str>> = self
            .rubric
            .labelling
            .labels
            .iter()
            .map(|(name, _)| (name.to_string(), Arc::clone(name)))
            .collect();
        self.each(nodes, "message", |fields, id| {
            let text = fields.required("text");
            let truth = fields.required("truth");
            let prior = fields.scalar("prior");
            let mut label = |field: &'static str, scalar: Option<Scalar>| {
                let scalar = scalar?;
                let known = labels.get(&scalar.text).cloned();
                if known.is_none() {
                    let names: Vec<&str> = labels.keys().map(String::as_str).collect();
                    fields.fault(
                        field,
                        scalar.at,
                        format!("there is no label `{}`", scalar.text),
                        format!(
                            "it can be {}; name others in a rubric file (--rubric)",
                            names.join(", ")
                        ),
                    );
                }
                known
            };
            let (truth, prior) = (label("truth", truth), label("prior", prior));
            Some(Matter::Message(Message {
                id: id.into(),
                text: text?.text,
                truth: truth?,
                prior,
            }))
        })
    }

    fn each(
        &mut self,
        nodes: &'a [Node],
        kind: &str,
        read: impl Fn(&mut Fields<'_, '_>, &str) -> Option<Matter>,
    ) -> Vec<Arc<Judged>> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for (place, node) in nodes.iter().enumerate() {
            let about = format!("{kind} {}", place + 1);
            let Some(mut fields) = Fields::open(self.document, node, about, self.faults) else {
                continue;
            };
            let id = fields.required("id");
            if let Some(id) = &id {
                fields.call(format!("{kind} `{}`", id.text));
                if !seen.insert(id.text.clone()) {
                    fields.fault(
                        "id",
                        id.at,
                        "stands here twice",
                        "give each an id of its own",
                    );
                }
            }
            let id = id.map_or_else(String::new, |id| id.text);
            let matter = read(&mut fields, &id);
            fields.close();
            found.extend(matter.map(|matter| {
                Arc::new(Judged {
                    matter: Arc::new(matter),
                    rubric: Arc::clone(self.rubric),
                    trial: None,
                })
            }));
        }
        found
    }
}
