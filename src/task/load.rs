use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use strum::{IntoEnumIterator, VariantNames};

use super::render::environment;
use super::{Form, Part, Prescribed, Step, Task, TaskFile, Tasks};
use crate::bank::cases::{Difficulty, ExtraKind, RATINGS, Spec, Wording, half_even};
use crate::bank::{Item, Provenance, Subject, derive_anchors};
use crate::domain::{Condition, Positive, Relevance, Role, Side, Suite, TaskName, Tier};
use crate::yaml::{Document, Faults, Fields, Node, Place, Scalar, Value};

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
                            let at = document.root.at;
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
    let Some(name) = tasks.first().map(|task| task.name.clone()) else {
        return tasks;
    };
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
            tasks.extend(read_task(document, &merged, Some(&name), faults));
        }
    }
    tasks
}

type Entry = (String, Place, Node);

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
                known.2 = if name == "with" || name == "cases" {
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

fn read_task(
    document: &Document,
    node: &Node,
    variant_of: Option<&TaskName>,
    faults: &mut Faults,
) -> Option<Task> {
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
        epochs,
        sampling: sampling.unwrap_or_default(),
        own,
        with,
        taken: BTreeMap::new(),
        environment: environment(),
    };
    if task.title.is_empty() {
        task.title = task.name.to_string();
    }
    read_steps(&mut root, nodes, &mut task);
    for condition in &task.conditions {
        let estimates = task
            .asks(*condition)
            .filter(|reads| reads.contains(&Part::Estimate))
            .count();
        let last = task.steps_of(*condition, false).last();
        if estimates != 1 || !matches!(last, Some(Step::Ask { .. })) {
            root.fault(
                "messages",
                at,
                "exactly one ask must be read for the estimate, and the last entry must be an ask",
                "end the messages with `- ask: [estimate]`",
            );
            break;
        }
    }
    root.close();
    (faults.0.len() == before && name.is_some()).then_some(task)
}

fn read_cases(root: &mut Fields<'_, '_>, suite: Suite) -> Option<Spec> {
    let at = root.at();
    let cases = root.nested("cases", |fields| {
        let prefix = fields.required("prefix");
        let seed = fields.count("seed").unwrap_or(42);
        let offsets = numbers(fields, "offsets", 1.0..=100.0);
        let slots = numbers(fields, "slots", 1.0..=5.0);
        let weights = numbers(fields, "weights", 0.0..=1000.0);
        if !weights.is_empty() && weights.len() != RATINGS {
            let at = fields.at();
            fields.fault(
                "weights",
                at,
                "must be five, one for each rating",
                "such as [1, 1, 1.5, 1.5, 2]",
            );
        }
        Some(Spec {
            prefix: prefix?.text,
            seed,
            offsets: offsets.into_iter().map(half_even).collect(),
            domains: fields.required("domains")?.text,
            extra: fields
                .choice("extra", ExtraKind::VARIANTS)
                .unwrap_or_default(),
            slots: slots
                .into_iter()
                .map(|slot| usize::from(half_even(slot)) - 1)
                .collect(),
            weights,
        })
    });
    if suite == Suite::Anchorbench && cases.is_none() {
        root.fault(
            "cases",
            at,
            "is missing",
            "say what is asked about, such as cases: {prefix: EXT, offsets: [15, 25, 40], domains: business}",
        );
    }
    cases.flatten()
}

/// A list of numbers within a range.
fn numbers(
    fields: &mut Fields<'_, '_>,
    field: &'static str,
    range: std::ops::RangeInclusive<f64>,
) -> Vec<f64> {
    let mut read = Vec::new();
    for scalar in fields.scalars(field) {
        match scalar.text.parse::<f64>() {
            Ok(value) if range.contains(&value) => read.push(value),
            _ => fields.fault(
                field,
                scalar.at,
                format!("`{}` is no number that fits here", scalar.text),
                format!("from {} to {}", range.start(), range.end()),
            ),
        }
    }
    read
}

/// Lists of sentences of which each case takes one.
fn read_own(root: &mut Fields<'_, '_>) -> BTreeMap<String, Vec<String>> {
    let mut own = BTreeMap::new();
    if let Some(Node {
        value: Value::Map(entries),
        ..
    }) = root.node("wording")
    {
        for (name, at, node) in entries {
            let texts: Option<Vec<String>> = match &node.value {
                Value::List(texts) => texts.iter().map(text_of).collect(),
                _ => None,
            };
            match texts.filter(|texts| !texts.is_empty()) {
                Some(texts) => {
                    own.insert(name.clone(), texts);
                }
                None => root.fault(
                    "wording",
                    *at,
                    format!("`{name}` must be a list of sentences"),
                    "begin each with `- `",
                ),
            }
        }
    }
    own
}

fn text_of(node: &Node) -> Option<String> {
    match &node.value {
        Value::Text { text, .. } => Some(text.clone()),
        _ => None,
    }
}

/// Values for the templates: truth values and numbers are what they look like.
fn read_with(root: &mut Fields<'_, '_>) -> BTreeMap<String, minijinja::Value> {
    let mut with = BTreeMap::new();
    if let Some(Node {
        value: Value::Map(entries),
        ..
    }) = root.node("with")
    {
        for (name, at, node) in entries {
            match text_of(node) {
                Some(text) => {
                    let value = text
                        .parse::<bool>()
                        .map(minijinja::Value::from)
                        .or_else(|_| text.parse::<i64>().map(minijinja::Value::from));
                    with.insert(name.clone(), value.unwrap_or_else(|_| text.into()));
                }
                None => root.fault(
                    "with",
                    *at,
                    format!("`{name}` must be a single value"),
                    "write it on one line",
                ),
            }
        }
    }
    with
}

fn read_conditions(root: &mut Fields<'_, '_>, suite: Suite) -> Vec<Condition> {
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
    let words: Vec<&'static str> = Condition::iter()
        .filter(|condition| condition.is_of_cases() == (suite == Suite::Anchorbench))
        .map(Into::into)
        .collect();
    for scalar in &scalars {
        let read: Option<Condition> = root.word("conditions", scalar, &words);
        if read.is_some_and(|read| !words.contains(&read.into())) {
            root.fault(
                "conditions",
                scalar.at,
                format!("`{}` belongs to another suite than {suite}", scalar.text),
                format!("it can be {}", words.join(", ")),
            );
            continue;
        }
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
    let sides = |relevance: Option<Relevance>, side: Side| {
        let wanted = |condition: &Condition| {
            condition.side() == Some(side)
                && condition.anchored().map(|(relevance, _)| relevance) == relevance
        };
        conditions.iter().any(wanted)
    };
    let torn = std::iter::once(None)
        .chain(Relevance::iter().map(Some))
        .any(|relevance| sides(relevance, Side::Low) != sides(relevance, Side::High));
    let control = conditions.contains(&Condition::Control);
    let at = root.at();
    if all_known && torn {
        root.fault(
            "conditions",
            at,
            "low and high belong together",
            "an index compares the two: name both or neither",
        );
    }
    if all_known && suite == Suite::Anchorbench && !conditions.is_empty() && !control {
        root.fault(
            "conditions",
            at,
            "there is no control",
            "add control: every pull is measured from it",
        );
    }
    conditions
}

fn read_steps(root: &mut Fields<'_, '_>, nodes: &[Node], task: &mut Task) {
    // Which of the steps are taken is looked up before a call, so that asking and scoring need no expressions.
    let pairs: Vec<(Condition, bool)> = task
        .conditions
        .iter()
        .flat_map(|condition| [(*condition, false), (*condition, true)])
        .collect();
    let mut taken: BTreeMap<(Condition, bool), Vec<bool>> = BTreeMap::new();
    for (position, node) in nodes.iter().enumerate() {
        let entries: &[Entry] = match &node.value {
            Value::Map(entries) => entries,
            _ => &[],
        };
        let when = entries.iter().find(|(name, ..)| name == "when");
        let mut said = entries.iter().filter(|(name, ..)| name != "when");
        let (Some(entry), None) = (said.next(), said.next()) else {
            root.fault(
                "messages",
                node.at,
                "each entry is one of system, user, assistant, call or ask, with `when` beside it or without",
                "write `- user: |-` and the text below, or `- ask: [estimate]`",
            );
            continue;
        };
        let Some(step) = read_step(root, entry, position + 1, &mut task.environment) else {
            continue;
        };
        let is_call = matches!(step, Step::Call { .. });
        for (condition, tools) in &pairs {
            let holds = match when {
                None => Ok(true),
                Some((_, _, expression)) => holds(task, expression, *condition, *tools),
            };
            let holds = holds.unwrap_or_else(|error| {
                if (*condition, *tools) == pairs[0] {
                    let (_, at, _) = when.expect("only an expression fails");
                    root.fault(
                        "when",
                        *at,
                        format!("cannot be worked out: {error:#}"),
                        "it may use condition, relevance, side, tools and the names under `with`",
                    );
                }
                true
            });
            taken
                .entry((*condition, *tools))
                .or_default()
                .push(holds && (*tools || !is_call));
        }
        task.steps.push(step);
    }
    task.taken = taken;
}

/// Whether a step is taken.
fn holds(
    task: &Task,
    expression: &Node,
    condition: Condition,
    tools: bool,
) -> Result<bool, minijinja::Error> {
    let text = text_of(expression).unwrap_or_default();
    let expression = task.environment.compile_expression(&text)?;
    Ok(expression.eval(task.common(condition, tools))?.is_true())
}

fn read_step(
    root: &mut Fields<'_, '_>,
    (key, at, value): &Entry,
    position: usize,
    environment: &mut minijinja::Environment<'static>,
) -> Option<Step> {
    let mut compile = |root: &mut Fields<'_, '_>, name: String, node: &Node| {
        let text = text_of(node).unwrap_or_default();
        if let Err(error) = environment.add_template_owned(name.clone(), text) {
            root.fault(
                key,
                node.at,
                format!("the template does not compile: {error:#}"),
                "close every {{ and {%",
            );
        }
        name
    };
    match (key.as_str(), &value.value) {
        ("ask", Value::List(parts)) => {
            let mut reads = Vec::new();
            for part in parts {
                if let Value::Text { text, .. } = &part.value {
                    let scalar = Scalar {
                        text: text.clone(),
                        at: part.at,
                    };
                    reads.extend(root.word::<Part>("ask", &scalar, Part::VARIANTS));
                }
            }
            return Some(Step::Ask { reads });
        }
        ("ask", _) => root.fault(
            "ask",
            *at,
            "must list what the reply is read for",
            "write `- ask: [estimate]` or `- ask: [comparison, estimate]`; `[]` if nothing is read",
        ),
        ("call", Value::Map(fields)) => {
            let field = |name: &str| fields.iter().find(|(known, ..)| known == name);
            let known = ["tool", "words", "arguments", "output"];
            let unknown = fields
                .iter()
                .find(|(name, ..)| !known.contains(&name.as_str()));
            let tool = field("tool").and_then(|(.., node)| text_of(node));
            if let (Some(tool), Some(_), None) = (tool, field("output"), unknown) {
                let templates =
                    [("words", ""), ("arguments", "{}"), ("output", "")].map(|(part, default)| {
                        let node = field(part).map_or_else(
                            || Node {
                                at: *at,
                                value: Value::Text {
                                    text: default.to_owned(),
                                    before_comment: false,
                                },
                            },
                            |(.., node)| node.clone(),
                        );
                        compile(root, format!("{part} of {tool}"), &node)
                    });
                return Some(Step::Call { tool, templates });
            }
            root.fault(
                "call",
                *at,
                "a call has a tool and an output, and may have words and arguments",
                "write call: {tool: name, arguments: '{}', output: '…'}",
            );
        }
        (role, Value::Text { .. }) => {
            if let Ok(role @ (Role::System | Role::User | Role::Assistant)) = role.parse::<Role>() {
                let template = compile(root, format!("message {position}"), value);
                return Some(Step::Say { role, template });
            }
            root.fault(
                key,
                *at,
                "there is no such role",
                "it can be system, user, assistant, call or ask",
            );
        }
        (role, _) if role.parse::<Role>().is_err() => root.fault(
            key,
            *at,
            "there is no such role",
            "it can be system, user, assistant, call or ask",
        ),
        _ => root.fault(key, value.at, "must be a text", "begin it with `|-`"),
    }
    None
}

/// Renders a stand-in under each condition: an unknown name or a missing anchor shows before any call.
fn check_rendering(task: &Task, wording: &Wording, mut fault: impl FnMut(String, &str)) {
    let (subjects, names): (Vec<Subject>, _) = match &task.cases {
        None => (
            vec![Subject::Question(Arc::new(stand_in()))],
            "templates may use question, unit, replies, and with an anchor anchor.grouped, anchor.plain and anchor.phrase",
        ),
        Some(spec) => {
            let groups: Vec<&str> = wording.groups().collect();
            if wording.group(&spec.domains).is_empty() {
                let near = format!("there are {}", groups.join(", "));
                fault(format!("there are no domains `{}`", spec.domains), &near);
                return;
            }
            let cases = spec.generate(wording);
            let of = |difficulty| {
                cases
                    .iter()
                    .find(|case| case.facts.difficulty == difficulty)
            };
            let subjects = Difficulty::iter().filter_map(of);
            (
                subjects
                    .map(|case| Subject::Case(Arc::new(case.clone())))
                    .collect(),
                "templates may use scenario, metric, evidence, question, anchor, relevance, side, say, own, pair, warmup, examples, summary, other, partial, replies and the names under `with`",
            )
        }
    };
    for subject in &subjects {
        let mut rendered = BTreeMap::new();
        for condition in &task.conditions {
            for tools in [false, true] {
                let form = Form {
                    prefill: false,
                    tools,
                };
                match task.outline(subject, *condition, form) {
                    Ok(conversation) => {
                        rendered.insert(*condition, conversation);
                    }
                    Err(error) => {
                        let source = std::error::Error::source(&error);
                        let source = source.map_or_else(String::new, ToString::to_string);
                        fault(format!("{error}: {source}"), names);
                        return;
                    }
                }
            }
        }
        for (low, prompt) in &rendered {
            let high = rendered.iter().find(|(high, _)| {
                low.side() == Some(Side::Low)
                    && high.side() == Some(Side::High)
                    && high.anchored().map(|(relevance, _)| relevance)
                        == low.anchored().map(|(relevance, _)| relevance)
            });
            if high.is_some_and(|(_, other)| other == prompt) {
                fault(
                    "the prompts under low and high are the same".to_owned(),
                    "put {{ anchor.grouped }}, {{ anchor.plain }} or {{ anchor.phrase }} into a message; of a case {{ anchor }}",
                );
                return;
            }
        }
    }
}

fn stand_in() -> Item {
    let reference = Positive::try_from(8849.0).expect("a positive literal");
    Item {
        id: "stand-in".into(),
        tier: Tier::Known,
        text: "the height of Mount Everest".to_owned(),
        unit: "meters".to_owned(),
        reference,
        anchors: derive_anchors(reference).expect("anchors of a small number"),
        provenance: Provenance::default(),
    }
}
