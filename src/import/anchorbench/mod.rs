//! The published benchmark's own files: item specifications and prompts here, answers beside it.

mod answers;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::bank::cases::{Content, Difficulty, Facts, PublishedSet, View, half_even};
use crate::domain::{Condition, ItemId, Side, TaskName};
use crate::task::published_name;

pub use answers::{results_line, share_controls};

/// A file as lines.
#[derive(Debug, Clone, Copy)]
pub struct Lines<'a> {
    /// Name for messages.
    pub name: &'a str,
    /// The whole text.
    pub text: &'a str,
}

/// What is wrong with a line, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{file}:{line}: {message}; {mend}")]
pub struct SetFault {
    file: String,
    line: usize,
    message: String,
    mend: &'static str,
}

/// A set that is being read: specifications first, then prompts, then answers.
#[derive(Debug, Default)]
pub struct Published {
    specs: BTreeMap<ItemId, Spec>,
    /// What was read so far.
    pub set: PublishedSet,
    /// The first line of each case with an anchor, for messages.
    anchored: BTreeMap<(TaskName, ItemId), (String, usize)>,
    /// What was answered so far.
    answered: BTreeMap<answers::Place, answers::Before>,
    /// Answers that a later line of their file replaces.
    pub replaced: usize,
}

#[derive(Debug, Clone, PartialEq)]
struct Spec {
    facts: Facts,
    hidden: Vec<usize>,
    anchors: (f64, f64),
}

/// A line of `itemspecs.jsonl`, as far as it is needed.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct SpecLine {
    item_id: String,
    domain: String,
    difficulty: String,
    y_star_evidence: f64,
    y_star_theta: Option<f64>,
    evidence_structured: Vec<Rating>,
    anchors: Anchors,
    #[serde(default = "mean")]
    scoring_function: String,
}

fn mean() -> String {
    "mean".to_owned()
}

#[derive(Deserialize)]
struct Rating {
    value: Option<f64>,
    value_raw: Option<f64>,
    #[serde(default)]
    missing: bool,
}

#[derive(Deserialize)]
struct Anchors {
    low: f64,
    high: f64,
}

/// A line of `promptviews.jsonl`, as far as it is needed.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct ViewLine {
    item_id: String,
    suite: String,
    condition: String,
    prompt_text: String,
    #[serde(default)]
    prompt_components: Value,
    anchor_value: Option<f64>,
    anchor_relevance: Option<String>,
    prompt_hash: String,
}

/// Where a line stands.
#[derive(Clone, Copy)]
struct At<'a> {
    file: &'a str,
    line: usize,
}

impl At<'_> {
    fn fault(self, message: impl Into<String>, mend: &'static str) -> SetFault {
        SetFault {
            file: self.file.to_owned(),
            line: self.line,
            message: message.into(),
            mend,
        }
    }
}

/// Reads each line of a file that is not blank.
fn each<T: for<'de> Deserialize<'de>>(
    lines: Lines<'_>,
    what: &str,
    faults: &mut Vec<SetFault>,
    mut take: impl FnMut(At<'_>, T) -> Result<(), SetFault>,
) {
    let text = lines.text.trim_start_matches('\u{feff}');
    for (place, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let at = At {
            file: lines.name,
            line: place + 1,
        };
        let taken = match serde_json::from_str(line) {
            Ok(read) => take(at, read),
            Err(error) => Err(at.fault(
                format!("not {what}: {error}"),
                "fetch the file again, or leave it out of the folder",
            )),
        };
        faults.extend(taken.err());
    }
}

fn on_scale(at: At<'_>, what: &str, value: f64) -> Result<(), SetFault> {
    if (0.0..=100.0).contains(&value) {
        return Ok(());
    }
    Err(at.fault(
        format!("{what} {value} is not on the scale from 0 to 100"),
        "mend the line, or take it out",
    ))
}

fn difficulty(at: At<'_>, word: &str) -> Result<Difficulty, SetFault> {
    word.parse().map_err(|_| {
        at.fault(
            format!("there is no difficulty `{word}`"),
            "it can be easy or hard",
        )
    })
}

impl Published {
    /// Reads item specifications: ratings and anchors on the scale, and a gold that the visible ratings come to.
    #[must_use]
    pub fn specs(&mut self, lines: Lines<'_>) -> Vec<SetFault> {
        let mut faults = Vec::new();
        each(lines, "an item specification", &mut faults, |at, line| {
            self.spec(at, line)
        });
        faults
    }

    fn spec(&mut self, at: At<'_>, line: SpecLine) -> Result<(), SetFault> {
        for rating in &line.evidence_structured {
            for value in [rating.value, rating.value_raw].into_iter().flatten() {
                on_scale(at, "rating", value)?;
            }
        }
        on_scale(at, "gold", line.y_star_evidence)?;
        on_scale(at, "anchor", line.anchors.low)?;
        on_scale(at, "anchor", line.anchors.high)?;
        if let Some(theta) = line.y_star_theta {
            on_scale(at, "theta", theta)?;
        }
        let visible: Vec<f64> = line
            .evidence_structured
            .iter()
            .filter(|rating| !rating.missing)
            .filter_map(|rating| rating.value)
            .collect();
        #[expect(clippy::cast_precision_loss, reason = "a handful of ratings")]
        let comes_to = half_even(visible.iter().sum::<f64>() / visible.len().max(1) as f64);
        if line.scoring_function == "mean" && f64::from(comes_to) != line.y_star_evidence {
            return Err(at.fault(
                format!(
                    "the gold is {}, but the visible ratings come to {comes_to}",
                    line.y_star_evidence
                ),
                "mend the line, or take it out",
            ));
        }
        let hidden = line.evidence_structured.iter().enumerate();
        let hidden = hidden.filter(|(_, rating)| rating.missing);
        let spec = Spec {
            facts: Facts {
                domain: line.domain.into(),
                difficulty: difficulty(at, &line.difficulty)?,
                // Histories have no distance, though their specifications hold numbers.
                offset: offset_of(&line.item_id),
                theta: line.y_star_theta,
                gold: line.y_star_evidence,
                shown: u8::try_from(visible.len()).ok(),
            },
            hidden: hidden.map(|(slot, _)| slot).collect(),
            anchors: (line.anchors.low, line.anchors.high),
        };
        let item = ItemId::from(line.item_id);
        let Some(known) = self.specs.get_mut(&item) else {
            self.specs.insert(item, spec);
            return Ok(());
        };
        let same = (&known.hidden, known.anchors) == (&spec.hidden, spec.anchors);
        if known.facts.learn(&spec.facts) && same {
            return Ok(());
        }
        Err(at.fault(
            format!("item `{item}` was specified otherwise before"),
            "a folder holds one version of a set",
        ))
    }

    /// Reads prompts: each with the hash it claims, of a known item, under a condition that some task knows.
    #[must_use]
    pub fn views(&mut self, lines: Lines<'_>) -> Vec<SetFault> {
        let mut faults = Vec::new();
        each(lines, "a prompt", &mut faults, |at, line| {
            self.view(at, &line)
        });
        faults
    }

    fn view(&mut self, at: At<'_>, line: &ViewLine) -> Result<(), SetFault> {
        let hash = prompt_hash(&line.prompt_text);
        if hash != line.prompt_hash {
            return Err(at.fault(
                format!(
                    "the prompt of `{}` under {} has the hash {hash}, not {}",
                    line.item_id, line.condition, line.prompt_hash
                ),
                "the text was changed: fetch the file again",
            ));
        }
        let (task, condition) = known(at, &line.suite, &line.condition)?;
        let item = ItemId::from(line.item_id.as_str());
        let Some(spec) = self.specs.get(&item) else {
            return Err(at.fault(
                format!("item `{item}` has no specification"),
                "put its itemspecs.jsonl into the folder",
            ));
        };
        if let Some(anchor) = line.anchor_value {
            on_scale(at, "anchor", anchor)?;
            let wanted = match condition.side() {
                Some(Side::Low) => spec.anchors.0,
                _ => spec.anchors.1,
            };
            if anchor != wanted {
                return Err(at.fault(
                    format!("the anchor of `{item}` under {condition} is {anchor}, but its specification says {wanted}"),
                    "fetch the file again",
                ));
            }
        }
        let relevance = condition
            .anchored()
            .map(|(relevance, _)| relevance.to_string());
        let stated = line
            .anchor_relevance
            .as_deref()
            .filter(|stated| *stated != "none");
        // Retrieval's further views say more than their relevance.
        if stated != relevance.as_deref()
            && line.anchor_relevance.is_some()
            && !task.as_str().starts_with("rag-")
        {
            return Err(at.fault(
                format!(
                    "`{item}` under {condition} states the relevance {}",
                    stated.unwrap_or("none")
                ),
                "fetch the file again",
            ));
        }
        let parts = &line.prompt_components;
        let stage = |name: &str| parts[name].as_str().map(str::to_owned);
        let stages = match (stage("stage1_user_message"), stage("stage2_user_message")) {
            (Some(first), Some(second)) => {
                if format!("{first}\n\n---\n\n{second}") != line.prompt_text {
                    return Err(at.fault(
                        format!("the stages of `{item}` are not those of its prompt"),
                        "fetch the file again",
                    ));
                }
                vec![first, second]
            }
            _ => vec![line.prompt_text.clone()],
        };
        if condition.anchored().is_some() && stages.len() == 1 && line.anchor_value.is_none() {
            return Err(at.fault(
                format!("the prompt of `{item}` under {condition} names no anchor"),
                "write its anchor_value, or fetch the file again",
            ));
        }
        let mut facts = spec.facts.clone();
        // Of partial evidence fewer ratings are shown, and hidden ones stay hidden.
        if let Some(slots) = parts["visible_indices"].as_str() {
            let slots = slots.split(',').filter_map(|slot| slot.trim().parse().ok());
            let shown = slots.filter(|slot: &usize| !spec.hidden.contains(slot));
            facts.shown = u8::try_from(shown.count()).ok();
        }
        let view = View {
            anchor: line.anchor_value,
            turns: u8::try_from(stages.len()).unwrap_or(u8::MAX),
            stages,
        };
        if condition.anchored().is_some() {
            self.anchored
                .entry((task.clone(), item.clone()))
                .or_insert_with(|| (at.file.to_owned(), at.line));
        }
        self.put(at, &task, item, condition, &facts, view)
    }

    fn put(
        &mut self,
        at: At<'_>,
        task: &TaskName,
        item: ItemId,
        condition: Condition,
        facts: &Facts,
        view: View,
    ) -> Result<(), SetFault> {
        let stranger = view.stages.is_empty() && self.set.is_asked_without(task, &item);
        if stranger {
            return Err(at.fault(
                format!("the set in the store has no item `{item}` in {task}"),
                "import answers to other items into a store of their own",
            ));
        }
        let case = self.set.case(task, item, facts.clone());
        if !case.facts.learn(facts) {
            return Err(at.fault(
                format!("`{}` was specified otherwise before", case.id),
                "a store holds one version of a set: import into a store of its own",
            ));
        }
        let Content::Published(views) = &mut case.content else {
            unreachable!("a set holds published cases");
        };
        let same = |(other, known): (&Condition, &View)| {
            *other != condition && !view.stages.is_empty() && known.stages == view.stages
        };
        if views.iter().any(same) {
            return Err(at.fault(
                format!(
                    "`{}` has the prompt of another condition under {condition}",
                    case.id
                ),
                "fetch the file again",
            ));
        }
        let known = views.get(&condition);
        if let Some(known) = known
            && (known.turns, known.anchor) != (view.turns, view.anchor)
        {
            return Err(at.fault(
                format!(
                    "`{}` under {condition} takes {} turns and holds the anchor {}, but was {} and {} before",
                    case.id,
                    view.turns,
                    said(view.anchor),
                    known.turns,
                    said(known.anchor)
                ),
                "answers to other prompts belong into a store of their own",
            ));
        }
        let stages = known.map_or(&[][..], |known| known.stages.as_slice());
        match (stages, view.stages.as_slice()) {
            ([], _) => {
                views.insert(condition, view);
                Ok(())
            }
            (known, new) if new.is_empty() || known == new => Ok(()),
            _ => Err(at.fault(
                format!("`{}` has another prompt under {condition} before", case.id),
                "a folder holds one version of a set",
            )),
        }
    }

    /// Gives retrieval's further views the control of their task, since they come without one, and finds cases without any.
    #[must_use]
    pub fn finish(&mut self) -> Vec<SetFault> {
        let names = self.set.0.keys();
        let variants: Vec<TaskName> = names
            .filter(|name| name.as_str().starts_with("rag-"))
            .cloned()
            .collect();
        for variant in variants {
            let base = self.set.0.get("rag").into_iter().flatten();
            let controls: BTreeMap<ItemId, View> = base
                .filter_map(|case| match &case.content {
                    Content::Published(views) => {
                        Some((case.id.clone(), views.get(&Condition::Control)?.clone()))
                    }
                    Content::Drawn(..) => None,
                })
                .collect();
            for case in self.set.0.get_mut(&variant).into_iter().flatten() {
                if let (Content::Published(views), Some(control)) =
                    (&mut case.content, controls.get(&case.id))
                {
                    views
                        .entry(Condition::Control)
                        .or_insert_with(|| control.clone());
                }
            }
        }
        let mut faults = Vec::new();
        for (task, cases) in &self.set.0 {
            for case in cases {
                let Content::Published(views) = &case.content else {
                    continue;
                };
                let control = views.contains_key(&Condition::Control)
                    || views.contains_key(&Condition::ControlTwostage);
                if let (false, Some((file, line))) =
                    (control, self.anchored.get(&(task.clone(), case.id.clone())))
                {
                    let at = At { file, line: *line };
                    faults.push(at.fault(
                        format!("item `{}` has no control", case.id),
                        "put its control prompt into the folder: every pull is measured from it",
                    ));
                }
            }
        }
        faults
    }
}

fn said(anchor: Option<f64>) -> String {
    anchor.map_or_else(|| "none".to_owned(), |anchor| anchor.to_string())
}

fn known(at: At<'_>, suite: &str, condition: &str) -> Result<(TaskName, Condition), SetFault> {
    published_name(suite, condition).ok_or_else(|| {
        at.fault(
            format!("no task knows the condition `{condition}` of suite `{suite}`"),
            "suites are external, history, icl, icl_dist, rag, tool and external_uncertain, conditions such as control, irrelevant_low, plausible_high; leave other files out of the folder",
        )
    })
}

/// The distance of the anchors that an id names: 15 in `EXT-pricing_wtp-e-off15-001`.
fn offset_of(item: &str) -> Option<u8> {
    item.split('-')
        .find_map(|part| part.strip_prefix("off")?.parse().ok())
}

/// The hash that published prompts carry: the first 16 hexadecimal digits of SHA-256.
fn prompt_hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let mut hash = "sha256:".to_owned();
    for byte in &digest[..8] {
        hash.push_str(&format!("{byte:02x}"));
    }
    hash
}
