//! Sets of cases that come with their prompts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Case, Content, Facts};
use crate::domain::{Condition, ItemId, TaskName};

/// The prompt of a case under one condition, as published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// The number in it. `None` of a control, or where the model's first reply is the number.
    pub anchor: Option<f64>,
    /// What the user says: one message, or two with the model's reply between them. Empty where only replies are known.
    pub stages: Vec<String>,
    /// Replies it takes.
    pub turns: u8,
}

/// A line of a stored set: one case with all its prompts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Line {
    task: TaskName,
    item: ItemId,
    #[serde(flatten)]
    facts: Facts,
    views: BTreeMap<Condition, View>,
}

/// A set of cases with their prompts, by task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PublishedSet(pub BTreeMap<TaskName, Vec<Case>>);

impl PublishedSet {
    /// Adds what another set holds.
    ///
    /// # Errors
    /// The first case that the two have in other words or with other numbers.
    pub fn merge(&mut self, other: Self) -> Result<(), ItemId> {
        for (task, cases) in other.0 {
            for case in cases {
                let known = self.case(&task, case.id.clone(), case.facts.clone());
                let (Content::Published(known_views), Content::Published(views)) =
                    (&mut known.content, case.content)
                else {
                    continue;
                };
                for (condition, view) in views {
                    match known_views.get(&condition) {
                        Some(known) if *known == view || view.stages.is_empty() => {}
                        Some(known) if !known.stages.is_empty() => return Err(case.id),
                        _ => drop(known_views.insert(condition, view)),
                    }
                }
                if !known.facts.learn(&case.facts) {
                    return Err(case.id);
                }
            }
        }
        Ok(())
    }

    /// The case of a task with this id; a new one without prompts if there is none.
    pub fn case(&mut self, task: &TaskName, item: ItemId, facts: Facts) -> &mut Case {
        let cases = self.0.entry(task.clone()).or_default();
        // Lines of a case mostly follow one another.
        let place = if let Some(place) = cases.iter().rposition(|known| known.id == item) {
            place
        } else {
            cases.push(Case {
                id: item,
                facts,
                content: Content::Published(BTreeMap::new()),
            });
            cases.len() - 1
        };
        &mut cases[place]
    }

    /// What is known of a case.
    #[must_use]
    pub fn facts(&self, task: &TaskName, item: &ItemId) -> Option<Facts> {
        let cases = self.0.get(task)?;
        let case = cases.iter().rev().find(|case| case.id == *item)?;
        Some(case.facts.clone())
    }

    /// The number in the prompt of a case under a condition, where the set holds it.
    #[must_use]
    pub fn anchor(&self, task: &TaskName, item: &ItemId, condition: Condition) -> Option<f64> {
        let case = self
            .0
            .get(task)?
            .iter()
            .rev()
            .find(|case| case.id == *item)?;
        match &case.content {
            Content::Published(views) => views.get(&condition)?.anchor,
            Content::Drawn(..) => None,
        }
    }

    /// Whether the set holds prompts of a task, and no such item among them.
    #[must_use]
    pub fn is_asked_without(&self, task: &TaskName, item: &ItemId) -> bool {
        let cases = self.0.get(task).map_or(&[][..], Vec::as_slice);
        let has_prompts = |case: &Case| match &case.content {
            Content::Published(views) => views.values().any(|view| !view.stages.is_empty()),
            Content::Drawn(..) => false,
        };
        !cases.iter().rev().any(|case| case.id == *item) && cases.iter().any(has_prompts)
    }

    /// What the user says to a case under a condition; nothing if that is not known.
    #[must_use]
    pub fn stages(&self, task: &TaskName, item: &ItemId, condition: Condition) -> Vec<String> {
        let cases = self.0.get(task).map_or(&[][..], Vec::as_slice);
        let case = cases.iter().rev().find(|case| case.id == *item);
        match case.map(|case| &case.content) {
            Some(Content::Published(views)) => views
                .get(&condition)
                .map_or_else(Vec::new, |view| view.stages.clone()),
            _ => Vec::new(),
        }
    }

    /// Conditions of a task in which some case has a prompt or replies.
    #[must_use]
    pub fn conditions(&self, task: &TaskName) -> Vec<Condition> {
        let mut conditions: Vec<Condition> =
            self.views(task).map(|(condition, _)| condition).collect();
        conditions.sort();
        conditions.dedup();
        conditions
    }

    /// Conditions of a task that are asked in two turns.
    #[must_use]
    pub fn in_two_turns(&self, task: &TaskName) -> Vec<Condition> {
        let mut conditions: Vec<Condition> = self
            .views(task)
            .filter(|(_, view)| view.turns > 1)
            .map(|(condition, _)| condition)
            .collect();
        conditions.sort();
        conditions.dedup();
        conditions
    }

    fn views(&self, task: &TaskName) -> impl Iterator<Item = (Condition, &View)> {
        let cases = self.0.get(task).map_or(&[][..], Vec::as_slice);
        cases.iter().flat_map(|case| match &case.content {
            Content::Published(views) => views.iter().map(|(at, view)| (*at, view)).collect(),
            Content::Drawn(..) => Vec::new(),
        })
    }

    /// The set as JSON lines.
    #[must_use]
    pub fn to_lines(&self) -> String {
        let mut text = String::new();
        for (task, cases) in &self.0 {
            for case in cases {
                if let Content::Published(views) = &case.content {
                    let line = Line {
                        task: task.clone(),
                        item: case.id.clone(),
                        facts: case.facts.clone(),
                        views: views.clone(),
                    };
                    text += &serde_json::json!(line).to_string();
                    text.push('\n');
                }
            }
        }
        text
    }

    /// Reads what [`PublishedSet::to_lines`] wrote.
    ///
    /// # Errors
    /// The number of the first line that is none, from 1, and why.
    pub fn from_lines(text: &str) -> Result<Self, (usize, serde_json::Error)> {
        let mut set = Self::default();
        for (place, line) in text.lines().enumerate() {
            let line: Line = serde_json::from_str(line).map_err(|error| (place + 1, error))?;
            let case = Case {
                id: line.item,
                facts: line.facts,
                content: Content::Published(line.views),
            };
            set.0.entry(line.task).or_default().push(case);
        }
        Ok(set)
    }
}
