use std::collections::{BTreeMap, HashMap, HashSet};

use super::variation::{Side, Variation};
use crate::bank::stimuli::{Excerpt, Stimulus};
use crate::domain::{
    Coalition, Condition, Conversation, Field, ItemId, Loss, ModelName, Scored, ScoringMode, Suite,
    TaskName,
};
use crate::score::heard::Heard;
use crate::task::{Catalog, Form, Targets, Task};

/// What the lines of a store say of stimuli.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gathered {
    /// Variations whose two whole prompts are scored.
    pub variations: Vec<Variation>,
    /// Prompts that have no score, by model and reason.
    pub lost: BTreeMap<(ModelName, ScoringMode), BTreeMap<Loss, usize>>,
    /// Prompts with answers whose first token begins within the prompt.
    pub merged: BTreeMap<(ModelName, ScoringMode), usize>,
    /// Lines that belong to no stimulus that is loaded, by what is missing.
    pub unknown: BTreeMap<String, usize>,
}

/// Lines that are scored alike: they are put into one table.
type Group<'a> = (&'a ModelName, &'a TaskName, ScoringMode);

/// Puts lines together to variations: those with words of ours by their prompts, those from elsewhere by their names.
#[must_use]
pub fn variations(heard: &[Heard], catalog: &Catalog) -> Gathered {
    let mut found = Gathered::default();
    let mut asked: BTreeMap<Group<'_>, Vec<&Heard>> = BTreeMap::new();
    let mut unscored = Vec::new();
    let mut brought: BTreeMap<(Group<'_>, &ItemId), [Option<&Heard>; 2]> = BTreeMap::new();
    for line in heard {
        let Some(task) = catalog.tasks.get(line.task.as_str()) else {
            *found
                .unknown
                .entry(format!("task {}", line.task))
                .or_default() += 1;
            continue;
        };
        if task.suite != Suite::Spinner {
            continue;
        }
        let Some(mode) = line.mode() else {
            unscored.push(line);
            continue;
        };
        let group = (&line.model, &line.task, mode);
        let foreign = line
            .scored
            .as_ref()
            .is_some_and(|scored| scored.banzhaf.is_some());
        if foreign {
            let place = usize::from(line.condition == Condition::High);
            brought.entry((group, &line.item)).or_default()[place] = Some(line);
        } else {
            asked.entry(group).or_default().push(line);
        }
    }
    // A failure does not say how it would have been scored: it stands with what was.
    for line in unscored {
        let same = |group: &Group<'_>| (group.0, group.1) == (&line.model, &line.task);
        let groups: Vec<Group<'_>> = asked.keys().copied().filter(same).collect();
        let first = (&line.model, &line.task, ScoringMode::default());
        for group in if groups.is_empty() {
            vec![first]
        } else {
            groups
        } {
            asked.entry(group).or_default().push(line);
        }
    }
    for ((group, item), sides) in brought {
        if let [Some(low), Some(high)] = sides
            && let Some(mut variation) = of_files(group, item, low, high)
        {
            // Two origins of one name are two models.
            if asked.contains_key(&group) {
                variation.model = format!("{} (imported)", group.0).as_str().into();
            }
            found.variations.push(variation);
        }
    }
    for (group, lines) in asked {
        if let Some(task) = catalog.tasks.get(group.1.as_str()) {
            of_prompts(group, &lines, task, catalog, &mut found);
        }
    }
    found
}

/// The numbers that answers stand for; `None` if one of them is no number.
fn values(scored: &Scored) -> Option<Vec<f64>> {
    let targets = scored.scoring.targets.iter();
    targets.map(|target| number(target)).collect()
}

/// The number in an answer such as `57%`.
#[must_use]
pub fn number(target: &str) -> Option<f64> {
    let target = target.trim().trim_end_matches('%');
    target.parse().ok().filter(|value: &f64| value.is_finite())
}

fn of_files(
    (model, task, mode): Group<'_>,
    item: &ItemId,
    low: &Heard,
    high: &Heard,
) -> Option<Variation> {
    let side = |line: &Heard| -> Option<Side> {
        let scored = line.scored.as_ref()?;
        Some(Side {
            anchor: line.anchor?,
            scores: scored.log_probabilities.clone(),
            banzhaf: scored.banzhaf.clone()?,
            shapley: BTreeMap::new(),
        })
    };
    let name = item.as_str();
    let (number, regime) = name.split_once('-').unwrap_or((name, "S"));
    Some(Variation {
        model: model.clone(),
        task: task.clone(),
        item: item.clone(),
        regime: regime.to_owned(),
        control: number == "V0",
        mode,
        values: values(low.scored.as_ref()?)?,
        low: side(low)?,
        high: side(high)?,
    })
}

fn of_prompts(
    group: Group<'_>,
    lines: &[&Heard],
    task: &Task,
    catalog: &Catalog,
    found: &mut Gathered,
) {
    // A later line goes before an earlier one; lines with other answers are no part of it.
    let Some(Targets::Fixed(targets)) = &task.targets else {
        return;
    };
    let todays = |line: &&&Heard| {
        let scored = line.scored.as_ref();
        scored.is_none_or(|scored| scored.scoring.targets == *targets)
    };
    let others = lines.iter().filter(|line| !todays(line)).count();
    if others > 0 {
        *found
            .unknown
            .entry("stimuli with other answers".to_owned())
            .or_default() += others;
    }
    let mut by_prompt: HashMap<&Conversation, &Heard> = HashMap::new();
    for line in lines.iter().filter(todays) {
        let known = by_prompt.get(&*line.conversation);
        let rank = |line: &Heard| (line.scored.is_some(), line.started.clone());
        if known.is_none_or(|known| rank(known) <= rank(line)) {
            by_prompt.insert(&line.conversation, line);
        }
    }
    let (mut used, mut merged) = (0, 0);
    let mut lost: BTreeMap<Loss, usize> = BTreeMap::new();
    let mut seen: HashSet<Conversation> = HashSet::new();
    for stimulus in &catalog.stimuli.0 {
        let mut sides: Vec<[Option<&Scored>; Coalition::COUNT]> = Vec::new();
        for condition in [Condition::Low, Condition::High] {
            let mut of_side = [None; Coalition::COUNT];
            for coalition in Coalition::all() {
                let excerpt = Excerpt::new(stimulus, coalition);
                let form = Form {
                    prefill: true,
                    ..Form::default()
                };
                let Ok(prompt) = task.outline(&excerpt, condition, form) else {
                    continue;
                };
                let line = by_prompt.get(&prompt).copied();
                of_side[coalition.bits()] = line.and_then(|line| line.scored.as_deref());
                if seen.insert(prompt) {
                    used += usize::from(line.is_some());
                    if of_side[coalition.bits()].is_some_and(|scored| scored.merged > 0) {
                        merged += 1;
                    }
                    if let Some(line) = line.filter(|line| line.scored.is_none()) {
                        let loss = line.error.map_or(Loss::NotAsked, Loss::Failed);
                        *lost.entry(loss).or_default() += 1;
                    } else if line.is_none() {
                        *lost.entry(Loss::NotAsked).or_default() += 1;
                    }
                }
            }
            sides.push(of_side);
        }
        found
            .variations
            .extend(of_stimulus(group, stimulus, &sides));
    }
    let strangers = by_prompt.len() - used;
    if strangers > 0 {
        *found
            .unknown
            .entry("stimuli in other words".to_owned())
            .or_default() += strangers;
    }
    if merged > 0 {
        found.merged.insert((group.0.clone(), group.2), merged);
    }
    if !lost.is_empty() {
        found.lost.insert((group.0.clone(), group.2), lost);
    }
}

fn of_stimulus(
    (model, task, mode): Group<'_>,
    stimulus: &Stimulus,
    sides: &[[Option<&Scored>; Coalition::COUNT]],
) -> Option<Variation> {
    let whole = |side: usize| sides[side][Coalition::FULL.bits()];
    let (low, high) = (whole(0)?, whole(1)?);
    let side = |place: usize, whole: &Scored| {
        let anchor = stimulus.anchors[place].value;
        let all: Option<Vec<Vec<Option<f64>>>> = sides[place]
            .iter()
            .map(|scored| scored.map(|scored| scored.log_probabilities.clone()))
            .collect();
        match all.map(<[Vec<Option<f64>>; Coalition::COUNT]>::try_from) {
            Some(Ok(scores)) => Side::of_coalitions(anchor, &scores),
            _ => Side {
                anchor,
                scores: whole.log_probabilities.clone(),
                banzhaf: BTreeMap::<Field, _>::new(),
                shapley: BTreeMap::new(),
            },
        }
    };
    Some(Variation {
        model: model.clone(),
        task: task.clone(),
        item: stimulus.id.clone(),
        regime: stimulus.regime.to_string(),
        control: stimulus.control,
        mode,
        values: values(low)?,
        low: side(0, low),
        high: side(1, high),
    })
}
