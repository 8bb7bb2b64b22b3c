//! The messages of a task file.

use std::collections::BTreeMap;
use std::sync::Arc;

use strum::VariantNames;

use super::fields::text_of;
use super::load::Entry;
use super::render::environment;
use super::{Part, Step, Task};
use crate::domain::{Condition, Role};
use crate::yaml::{Fields, Node, Scalar, Value};

/// Templates of a task by name.
pub(super) type Templates = minijinja::Environment<'static>;

/// Reads the messages of a task, and works out which of them each condition takes. Templates that are compiled already are
/// not compiled again.
pub(super) fn read_steps(
    root: &mut Fields<'_, '_>,
    nodes: &[Node],
    task: &mut Task,
    compiled: Option<&Arc<Templates>>,
) {
    let mut own = compiled.is_none().then(environment);
    let expressions = environment();

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
                "each entry is one of system, user, assistant, text, call or ask, with `when` beside it or without",
                "write `- user: |-` and the text below, or `- ask: [estimate]`",
            );
            continue;
        };
        let Some(step) = read_step(root, entry, position + 1, own.as_mut()) else {
            continue;
        };
        let is_call = matches!(step, Step::Call { .. });
        for (condition, tools) in &pairs {
            let holds = match when {
                None => Ok(true),
                Some((_, _, expression)) => {
                    holds(task, &expressions, expression, *condition, *tools)
                }
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
    task.environment = match (own, compiled) {
        (None, Some(compiled)) => Arc::clone(compiled),
        (own, _) => Arc::new(own.unwrap_or_else(environment)),
    };
}

/// Whether a step is taken.
fn holds(
    task: &Task,
    expressions: &Templates,
    expression: &Node,
    condition: Condition,
    tools: bool,
) -> Result<bool, minijinja::Error> {
    let text = text_of(expression).unwrap_or_default();
    let expression = expressions.compile_expression(&text)?;
    Ok(expression.eval(task.common(condition, tools))?.is_true())
}

fn read_step(
    root: &mut Fields<'_, '_>,
    (key, at, value): &Entry,
    position: usize,
    mut environment: Option<&mut Templates>,
) -> Option<Step> {
    let mut compile = |root: &mut Fields<'_, '_>, name: String, node: &Node| {
        let text = text_of(node).unwrap_or_default();
        let added = environment
            .as_mut()
            .map(|environment| environment.add_template_owned(name.clone(), text));
        if let Some(Err(error)) = added {
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
            if let Ok(role @ (Role::System | Role::User | Role::Assistant | Role::Text)) =
                role.parse::<Role>()
            {
                let template = compile(root, format!("message {position}"), value);
                return Some(Step::Say { role, template });
            }
            root.fault(
                key,
                *at,
                "there is no such role",
                "it can be system, user, assistant, text, call or ask",
            );
        }
        (role, _) if role.parse::<Role>().is_err() => root.fault(
            key,
            *at,
            "there is no such role",
            "it can be system, user, assistant, text, call or ask",
        ),
        _ => root.fault(key, value.at, "must be a text", "begin it with `|-`"),
    }
    None
}
