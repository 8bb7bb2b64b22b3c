//! Task files: the task that each describes and its variants, and what must hold of a task as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use strum::VariantNames;

use super::check::check_rendering;
use super::fields::{read_cases, read_conditions, read_own, read_with};
use super::judging::read_judges;
use super::steps::read_steps;
use super::targets::{GRID, Targets, read_targets};
use super::{Prescribed, Step, Task, TaskFile, Tasks};
use crate::bank::cases::Wording;
use crate::bank::judge::Anchors;
use crate::domain::{Role, Suite, TaskName};
use crate::yaml::{Document, Faults, Fields, Node, Place, Value};

/// Reads and checks task files. A later file replaces an earlier one of the same name.
///
/// # Errors
/// Every fault of every file.
pub fn load(files: &[TaskFile], wording: &Wording) -> Result<Tasks, Faults> {
    let mut faults = Faults::default();
    let mut tasks: Vec<Task> = Vec::new();
    for file in files {
        match Document::parse(file.name.clone(), &file.text) {
            Ok(document) => {
                let of_file = read_file(&document, &mut faults);
                let names: BTreeSet<&TaskName> = of_file.iter().map(|task| &task.name).collect();
                if names.len() < of_file.len() {
                    let at = document.root.at;
                    faults.0.push(document.fault(
                        at,
                        Some("variants"),
                        "two variants have one name",
                        "give each a name of its own: it becomes a file in the store",
                    ));
                }
                for task in of_file {
                    // Those that are compiled in are rendered by the tests.
                    if !file.built_in {
                        check_rendering(&task, wording, |message, mend| {
                            let about = format!("task `{}`: {message}", task.name);
                            let at = messages_at(&document);
                            faults
                                .0
                                .push(document.fault(at, Some("messages"), about, mend));
                        });
                    }
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

/// Where the messages of a file begin.
fn messages_at(document: &Document) -> Place {
    let entries = match &document.root.value {
        Value::Map(entries) => entries.as_slice(),
        _ => &[],
    };
    let messages = entries.iter().find(|(name, ..)| name == "messages");
    messages.map_or(document.root.at, |(_, at, _)| *at)
}

/// The tasks of a file: the one it describes, and its variants.
fn read_file(document: &Document, faults: &mut Faults) -> Vec<Task> {
    let Value::Map(entries) = &document.root.value else {
        return read_task(document, &document.root, None, faults)
            .into_iter()
            .collect();
    };
    let (variants, base): (Vec<Entry>, Vec<Entry>) = entries
        .iter()
        .cloned()
        .partition(|(name, ..)| name == "variants");
    let base = Node {
        at: document.root.at,
        value: Value::Map(base),
    };
    let mut tasks: Vec<Task> = read_task(document, &base, None, faults)
        .into_iter()
        .collect();
    let Some(first) = tasks.first().cloned() else {
        return tasks;
    };
    let grid = by_probability(&first);
    for (_, at, node) in &variants {
        let Value::List(variants) = &node.value else {
            faults.0.push(document.fault(
                *at,
                Some("variants"),
                "must be a list",
                "begin each with `- name: …`",
            ));
            continue;
        };
        for variant in variants {
            let merged = merge(&base, variant);
            let says = |(name, ..): &Entry| name == "messages";
            let same = !matches!(&variant.value, Value::Map(entries) if entries.iter().any(says));
            tasks.extend(read_task(document, &merged, Some((&first, same)), faults));
        }
    }
    tasks.extend(grid);
    tasks
}

pub(super) type Entry = (String, Place, Node);

/// A mapping with the fields of another in place of its own; the values for templates are put together one by one.
fn merge(base: &Node, over: &Node) -> Node {
    let (Value::Map(base), Value::Map(over_entries)) = (&base.value, &over.value) else {
        return over.clone();
    };
    let mut entries = base.clone();
    for (name, at, node) in over_entries {
        match entries.iter_mut().find(|(known, ..)| known == name) {
            Some(known) => {
                known.1 = *at;
                known.2 = if matches!(name.as_str(), "with" | "cases" | "judges") {
                    merge(&known.2, node)
                } else {
                    node.clone()
                };
            }
            None => entries.push((name.clone(), *at, node.clone())),
        }
    }
    Node {
        at: over.at,
        value: Value::Map(entries),
    }
}

/// Reads one task; of a variant the task it belongs to, and whether its messages are the same.
fn read_task(
    document: &Document,
    node: &Node,
    base: Option<(&Task, bool)>,
    faults: &mut Faults,
) -> Option<Task> {
    let variant_of = base.map(|(base, _)| &base.name);
    let compiled = base.and_then(|(base, same)| same.then_some(&base.environment));
    let before = faults.0.len();
    let mut root = Fields::open(document, node, "the task", faults)?;
    let mut name = root.required("name");
    let mut of_variant = String::new();
    if let (Some(name), Some(base)) = (&mut name, variant_of) {
        of_variant = format!(", {}", name.text);
        name.text = format!("{base}-{}", name.text);
    }
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
        .choice("suite", Suite::VARIANTS)
        .unwrap_or(Suite::Wheel);
    let conditions = read_conditions(&mut root, suite);
    let prefill = root
        .scalar("prefill")
        .map(|prefill| prefill.text)
        .filter(|prefill| !prefill.is_empty());
    let reasons = root.flag("reasons").unwrap_or(false);
    let one_line = root.flag("one_line").unwrap_or(false);
    let epochs = root.from_one("epochs").unwrap_or(1);
    let sampling = root.nested("sampling", |fields| Prescribed {
        temperature: fields.number("temperature").map(|(value, _)| value),
        top_p: fields.number("top_p").map(|(value, _)| value),
    });
    let cases = read_cases(&mut root, suite);
    let judges = read_judges(&mut root, suite);
    let targets = read_targets(&mut root);
    let own = read_own(&mut root);
    let with = read_with(&mut root);
    let nodes = root.list("messages");
    let at = root.at();
    let mut task = Task {
        title: title.map_or_else(String::new, |title| title.text + &of_variant),
        name: name.as_ref().map_or("", |name| &name.text).into(),
        about,
        suite,
        variant_of: variant_of.cloned(),
        conditions,
        steps: Vec::new(),
        prefill,
        reasons,
        one_line,
        cases,
        judges,
        epochs,
        sampling: sampling.unwrap_or_default(),
        targets,
        own,
        with,
        taken: BTreeMap::new(),
        environment: Arc::default(),
    };
    if task.title.is_empty() {
        task.title = task.name.to_string();
    }
    read_steps(&mut root, nodes, &mut task, compiled);
    for condition in &task.conditions {
        let wanted = task.wanted();
        let estimates = task
            .asks(*condition)
            .filter(|reads| reads.contains(&wanted))
            .count();
        let last = task.steps_of(*condition, false).last();
        if estimates != 1 || !matches!(last, Some(Step::Ask { .. })) {
            root.fault(
                "messages",
                at,
                format!("exactly one ask must be read for the {wanted}, and the last entry must be an ask"),
                format!("end the messages with `- ask: [{wanted}]`"),
            );
            break;
        }
    }
    check_targets(&mut root, &task, at);
    root.close();
    (faults.0.len() == before && name.is_some()).then_some(task)
}

/// What is scored follows one prompt, and a suite of stimuli has nothing else.
fn check_targets(root: &mut Fields<'_, '_>, task: &Task, at: Place) {
    if task.targets.is_some() && task.most_turns() > 1 {
        root.fault(
            "targets",
            at,
            "answers are scored after one prompt, but this task asks more than once",
            "leave the earlier asks out",
        );
    }
    if matches!(task.targets, Some(Targets::Grid(_))) && task.suite != Suite::Wheel {
        root.fault(
            "targets",
            at,
            "a grid lies around the anchors of a question",
            "give the answers as a list, or by from and to",
        );
    }
    let of_messages = task
        .judges
        .as_ref()
        .is_some_and(|trials| trials.anchors == Anchors::Label);
    if task.targets == Some(Targets::Labels) && !of_messages {
        root.fault(
            "targets",
            at,
            "labels are for messages to be judged",
            "give the answers as a list, or by from and to",
        );
    }
    let bare = |step: &Step| {
        matches!(
            step,
            Step::Say {
                role: Role::Text,
                ..
            }
        )
    };
    if task.steps.iter().any(bare) && (task.targets.is_none() || task.prefill.is_some()) {
        root.fault(
            "messages",
            at,
            "bare text is for answers that are scored, and goes on by itself",
            "give targets and no prefill, or write user in place of text",
        );
    }
    if task.suite == Suite::Spinner && task.targets.is_none() {
        root.fault(
            "targets",
            at,
            "is missing",
            "write targets: {from: 0, to: 100, text: \"{n}%\"}",
        );
    }
}

/// The form by probability of a task of the wheel: candidate answers are scored where its reply begins.
fn by_probability(task: &Task) -> Option<Task> {
    let asks = task.suite == Suite::Wheel && task.targets.is_none() && task.most_turns() == 1;
    (asks && task.prefill.is_some() && !task.reasons).then(|| Task {
        name: format!("{}-grid", task.name).as_str().into(),
        title: format!("{}, by probability", task.title),
        about: "candidate answers are scored in place of a reply".to_owned(),
        variant_of: Some(task.variant_of.as_ref().unwrap_or(&task.name).clone()),
        targets: Some(Targets::Grid(GRID)),
        one_line: false,
        ..task.clone()
    })
}
