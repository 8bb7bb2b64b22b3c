use std::collections::BTreeMap;

use strum::VariantNames;

use super::render::environment;
use super::{Part, Step, Task, TaskFile, Tasks};
use crate::bank::{Item, Provenance, derive_anchors};
use crate::domain::{Condition, Positive, Role, Tier};
use crate::yaml::{Document, Faults, Fields, Node, Value};

/// Reads and checks task files. A later file replaces an earlier one of the same name.
///
/// # Errors
/// Every fault of every file.
pub fn load(files: &[TaskFile]) -> Result<Tasks, Faults> {
    let mut faults = Faults::default();
    let mut tasks: Vec<Task> = Vec::new();
    for file in files {
        match Document::parse(file.name.clone(), &file.text) {
            Ok(document) => {
                if let Some(task) = read_task(&document, &mut faults) {
                    match tasks.iter_mut().find(|known| known.name == task.name) {
                        Some(known) => *known = task,
                        None => tasks.push(task),
                    }
                }
            }
            Err(more) => faults.extend(more),
        }
    }
    faults.sort();
    if faults.any_error() {
        Err(faults)
    } else {
        Ok(Tasks(tasks))
    }
}

fn read_task(document: &Document, faults: &mut Faults) -> Option<Task> {
    let before = faults.0.len();
    let mut root = Fields::open(document, &document.root, "the task", faults)?;
    let name = root.required("name");
    if let Some(name) = &name {
        root.call(format!("task `{}`", name.text));
        if !name
            .text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        {
            root.fault(
                "name",
                name.at,
                "a name holds letters, digits, `-`, `_` and `.` only",
                "it becomes a file name in the store",
            );
        }
    }
    let title = root.scalar("title");
    let about = root
        .scalar("about")
        .map_or(String::new(), |about| about.text);
    let suite = root
        .scalar("suite")
        .map_or_else(|| "wheel".to_owned(), |suite| suite.text);
    let conditions = read_conditions(&mut root);
    let prefill = root.scalar("prefill").map(|prefill| prefill.text);
    let one_line = root.flag("one_line").unwrap_or(false);
    let nodes = root.list("messages");
    let at = root.at();
    let mut environment = environment();
    let steps = read_steps(&mut root, nodes, &mut environment);
    let estimates = steps
        .iter()
        .filter(|step| matches!(step, Step::Ask { reads } if reads.contains(&Part::Estimate)))
        .count();
    if estimates != 1 || !matches!(steps.last(), Some(Step::Ask { .. })) {
        root.fault(
            "messages",
            at,
            "exactly one ask must be read for the estimate, and the last entry must be an ask",
            "end the messages with `- ask: [estimate]`",
        );
    }
    root.close();
    if faults.0.len() > before {
        return None;
    }
    let name = name?;
    let task = Task {
        title: title.map_or_else(|| name.text.clone(), |title| title.text),
        name: name.text.into(),
        about,
        suite,
        conditions,
        steps,
        prefill,
        one_line,
        environment,
    };
    let place = document.root.at;
    check_rendering(&task, |message, mend| {
        let about = format!("task `{}`: {message}", task.name);
        faults
            .0
            .push(document.fault(place, Some("messages"), about, mend));
    });
    (faults.0.len() == before).then_some(task)
}

fn read_conditions(root: &mut Fields<'_, '_>) -> Vec<Condition> {
    let scalars = root.scalars("conditions");
    if scalars.is_empty() {
        let at = root.at();
        root.fault(
            "conditions",
            at,
            "is missing",
            "write conditions: [low, high], or [unanchored] for a baseline",
        );
    }
    let mut conditions = Vec::new();
    let mut all_known = true;
    for scalar in &scalars {
        let read: Option<Condition> = root.word("conditions", scalar, Condition::VARIANTS);
        all_known &= read.is_some();
        if let Some(condition) = read {
            if conditions.contains(&condition) {
                root.fault(
                    "conditions",
                    scalar.at,
                    "stands here twice",
                    "keep one of the two",
                );
            }
            conditions.push(condition);
        }
    }
    if all_known && conditions.contains(&Condition::Low) != conditions.contains(&Condition::High) {
        let at = root.at();
        root.fault(
            "conditions",
            at,
            "low and high belong together",
            "an index compares the two: name both or neither",
        );
    }
    conditions
}

fn read_steps(
    root: &mut Fields<'_, '_>,
    nodes: &[Node],
    environment: &mut minijinja::Environment<'static>,
) -> Vec<Step> {
    let mut steps = Vec::new();
    for (position, node) in nodes.iter().enumerate() {
        let entry = match &node.value {
            Value::Map(entries) if entries.len() == 1 => &entries[0],
            _ => {
                root.fault(
                    "messages",
                    node.at,
                    "each entry is one of system, user, assistant or ask",
                    "write `- user: |-` and the text below, or `- ask: [estimate]`",
                );
                continue;
            }
        };
        let (key, at, value) = entry;
        match (key.as_str(), &value.value) {
            ("ask", Value::List(parts)) => {
                let mut reads = Vec::new();
                for part in parts {
                    if let Value::Text { text, .. } = &part.value {
                        let scalar = crate::yaml::Scalar {
                            text: text.clone(),
                            at: part.at,
                        };
                        reads.extend(root.word::<Part>("ask", &scalar, Part::VARIANTS));
                    }
                }
                steps.push(Step::Ask { reads });
            }
            ("ask", _) => root.fault(
                "ask",
                *at,
                "must list what the reply is read for",
                "write `- ask: [estimate]` or `- ask: [comparison, estimate]`; `[]` if nothing is read",
            ),
            (role, _) if role.parse::<Role>().is_err() => root.fault(
                key,
                *at,
                "there is no such role",
                "it can be system, user, assistant or ask",
            ),
            (role, Value::Text { text, .. }) => {
                let role = role.parse::<Role>().expect("checked by the arm above");
                let template = format!("message {}", position + 1);
                if let Err(error) = environment.add_template_owned(template.clone(), text.clone()) {
                    root.fault(
                        key,
                        value.at,
                        format!("the template does not compile: {error:#}"),
                        "close every {{ and {%",
                    );
                }
                steps.push(Step::Say { role, template });
            }
            _ => root.fault(key, value.at, "must be a text", "begin it with `|-`"),
        }
    }
    steps
}

/// Renders a stand-in item under each condition: an unknown name or a missing anchor shows before any call.
fn check_rendering(task: &Task, mut fault: impl FnMut(String, &str)) {
    let reference = Positive::try_from(8849.0).expect("a positive literal");
    let item = Item {
        id: "stand-in".into(),
        tier: Tier::Known,
        text: "the height of Mount Everest".to_owned(),
        unit: "meters".to_owned(),
        reference,
        anchors: derive_anchors(reference).expect("anchors of a small number"),
        provenance: Provenance::default(),
    };
    let mut rendered = BTreeMap::new();
    for condition in &task.conditions {
        match task.outline(&item, *condition, false) {
            Ok(conversation) => {
                rendered.insert(*condition, conversation);
            }
            Err(error) => fault(
                error.to_string()
                    + ": "
                    + &std::error::Error::source(&error)
                        .map_or_else(String::new, ToString::to_string),
                "templates may use question, unit, replies, and with an anchor anchor.grouped, anchor.plain and anchor.phrase",
            ),
        }
    }
    let low = rendered.get(&Condition::Low);
    if low.is_some() && low == rendered.get(&Condition::High) {
        fault(
            "the prompts under low and high are the same".to_owned(),
            "put {{ anchor.grouped }}, {{ anchor.plain }} or {{ anchor.phrase }} into a message",
        );
    }
}
