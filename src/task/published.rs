//! Tasks whose prompts came with their cases.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::render::environment;
use super::{Part, Prescribed, Step, Task};
use crate::bank::cases::PublishedSet;
use crate::domain::{Condition, Role, Suite, TaskName};

/// The task that asks the published prompts of this name.
///
/// Under conditions of two turns the first reply is the anchor; after a control's first turn nothing is read. `known` is
/// the task of that name whose wording is ours: its title stays.
#[must_use]
pub fn published_task(name: &TaskName, set: &PublishedSet, known: Option<&Task>) -> Task {
    let conditions = set.conditions(name);
    let two_turns = set.in_two_turns(name);
    let say = |template: &str| Step::Say {
        role: Role::User,
        template: template.to_owned(),
    };
    let ask = |reads: &[Part]| Step::Ask {
        reads: reads.to_vec(),
    };
    let steps = vec![
        say("first"),
        ask(&[Part::Anchor]),
        ask(&[]),
        say("last"),
        ask(&[Part::Estimate]),
    ];
    let mut taken = BTreeMap::new();
    for condition in &conditions {
        let two = two_turns.contains(condition);
        let anchored = condition.anchored().is_some();
        let steps = vec![two, two && anchored, two && !anchored, true, true];
        for tools in [false, true] {
            taken.insert((*condition, tools), steps.clone());
        }
    }
    Task {
        name: name.clone(),
        title: known.map_or_else(|| name.to_string(), |known| known.title.clone()),
        about: "the published prompts".to_owned(),
        suite: Suite::Anchorbench,
        variant_of: known.and_then(|known| known.variant_of.clone()),
        conditions,
        steps,
        // To the letter: no word of ours stands in the reply.
        prefill: None,
        reasons: false,
        one_line: false,
        cases: None,
        judges: None,
        epochs: 1,
        targets: None,
        sampling: Prescribed::default(),
        own: BTreeMap::new(),
        with: BTreeMap::new(),
        taken,
        environment: Arc::new(of_stages()),
    }
}

/// Templates that give the published texts of a case back.
fn of_stages() -> minijinja::Environment<'static> {
    let mut environment = environment();
    for (template, text) in [
        ("first", "{{ stages | first }}"),
        ("last", "{{ stages | last }}"),
    ] {
        environment
            .add_template(template, text)
            .expect("a template of the program compiles");
    }
    environment
}

/// Our task and condition for a suite and condition in the words of the published files; `None` if there is none.
#[must_use]
pub fn published_name(suite: &str, condition: &str) -> Option<(TaskName, Condition)> {
    let plain = |name: &str| {
        name.parse()
            .ok()
            .filter(|c: &Condition| c.is_of(Suite::Anchorbench))
    };
    let pair = |task: &str, condition: &str| Some((task.into(), plain(condition)?));
    match suite {
        "icl_dist" => pair("icl-dist", condition),
        "external_uncertain" => {
            let (k, condition) = condition.strip_prefix("uncertain_p")?.split_once('_')?;
            pair(&format!("external-partial-{k}"), condition)
        }
        "external" | "history" | "icl" | "rag" | "tool" => pair(suite, condition),
        // Answers to our variants, as they are exported.
        _ => match suite.split_once('_')? {
            ("external" | "history" | "icl" | "rag" | "tool", _) => {
                pair(&suite.replace('_', "-"), condition)
            }
            _ => None,
        },
    }
    .or_else(|| of_rag(suite, condition))
}

/// Retrieval's further views name what was changed at their end.
fn of_rag(suite: &str, condition: &str) -> Option<(TaskName, Condition)> {
    let endings = [
        ("_order_first", "rag-first"),
        ("_order_last", "rag-last"),
        ("_nodiscl", "rag-no-disclaimer"),
        ("_authority", "rag-authority"),
    ];
    if suite != "rag" {
        return None;
    }
    endings.iter().find_map(|(ending, task)| {
        let condition = condition.strip_suffix(ending)?.parse().ok()?;
        Some(((*task).into(), condition))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_names_lead_to_tasks_and_conditions() {
        for (suite, name, task, condition) in [
            ("external", "control", "external", Condition::Control),
            (
                "icl_dist",
                "plausible_low",
                "icl-dist",
                Condition::PlausibleLow,
            ),
            (
                "external_uncertain",
                "uncertain_p2_irrelevant_high",
                "external-partial-2",
                Condition::IrrelevantHigh,
            ),
            (
                "rag",
                "irrelevant_low_nodiscl",
                "rag-no-disclaimer",
                Condition::IrrelevantLow,
            ),
            (
                "rag_first_of_5",
                "plausible_low",
                "rag-first-of-5",
                Condition::PlausibleLow,
            ),
            (
                "history",
                "control_twostage",
                "history",
                Condition::ControlTwostage,
            ),
        ] {
            assert_eq!(published_name(suite, name), Some((task.into(), condition)));
        }
        for (suite, name) in [
            ("external", "low"),
            ("external", "sideways"),
            ("news", "control"),
        ] {
            assert_eq!(published_name(suite, name), None);
        }
    }
}
