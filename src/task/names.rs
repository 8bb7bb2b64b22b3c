//! What the templates of a task may name.

use minijinja::value::merge_maps;
use minijinja::{Value, context};

use strum::IntoEnumIterator;

use super::Task;
use crate::bank::cases::{Case, Content, Demonstration, Domain, Draw, Extra, RATINGS, Warmup};
use crate::bank::judge::{Judged, Matter, Prior};
use crate::bank::stimuli::Excerpt;
use crate::bank::{Item, SubjectRef};
use crate::domain::{Condition, Field, Side, grouped, plain};

impl Task {
    /// The names of a subject under a condition.
    pub(super) fn names(
        &self,
        subject: SubjectRef<'_>,
        condition: Condition,
        replies: &[String],
        tools: bool,
    ) -> Value {
        let names = match subject {
            SubjectRef::Question(item) => of_question(item, condition),
            SubjectRef::Case(case) => self.of_case(case, condition),
            SubjectRef::Excerpt(excerpt) => of_excerpt(excerpt, condition),
            SubjectRef::Judged(judged) => of_judged(judged),
        };
        let common = self.common(condition, tools);
        merge_maps([context! { replies => replies.to_vec() }, names, common])
    }

    /// What holds under a condition whatever the subject: the names that `when` may use.
    pub(super) fn common(&self, condition: Condition, tools: bool) -> Value {
        let anchored = condition.anchored();
        let with = self.with.iter();
        let with = Value::from_pairs(with.map(|(name, value)| (name.as_str(), value.clone())));
        context! {
            condition => condition.to_string(),
            relevance => anchored.map(|(relevance, _)| relevance.to_string()),
            side => anchored.map(|(_, side)| side.to_string()),
            tools => tools,
            strategy => self.judges.as_ref().map(|judges| judges.strategy.to_string()),
            ..with
        }
    }

    fn of_case(&self, case: &Case, condition: Condition) -> Value {
        let anchor = case.anchor(condition).map(plain);
        match &case.content {
            Content::Published(views) => {
                let stages = views.get(&condition).map(|view| view.stages.clone());
                context! { anchor => anchor, stages => stages.unwrap_or_default() }
            }
            Content::Drawn(draw, domain) => {
                let names = of_draw(draw, domain, case.facts.gold, condition, anchor.as_deref());
                let own = self.picked(draw, domain, anchor.as_deref());
                context! { anchor => anchor, own => own, ..names }
            }
        }
    }

    /// The sentence that a case takes from each list of the task's own wording.
    fn picked(&self, draw: &Draw, domain: &Domain, anchor: Option<&str>) -> Value {
        let lists = self.own.iter();
        Value::from_pairs(lists.map(|(name, list)| {
            (
                name.as_str(),
                pick(list, draw.choices.phrase, domain, anchor),
            )
        }))
    }
}

fn of_question(item: &Item, condition: Condition) -> Value {
    let phrase = |number: String| {
        if item.unit.is_empty() {
            number
        } else {
            format!("{number} {}", item.unit)
        }
    };
    let names = context! { question => item.text.as_str(), unit => item.unit.as_str() };
    match item.anchor(condition) {
        None => names,
        Some(anchor) => context! {
            anchor => context! {
                grouped => grouped(anchor.get()),
                plain => plain(anchor.get()),
                phrase => phrase(grouped(anchor.get())),
            },
            ..names
        },
    }
}

fn of_excerpt(excerpt: &Excerpt, condition: Condition) -> Value {
    let fields = Field::iter().map(|field| {
        let name: &'static str = field.into();
        (name, excerpt.text(field, condition))
    });
    Value::from_pairs(fields)
}

fn of_judged(judged: &Judged) -> Value {
    let rubric = &judged.rubric;
    let names = match &*judged.matter {
        Matter::Text(text) => context! {
            assignment => text.assignment.as_str(),
            answer => text.answer.as_str(),
            category => &*text.category,
            rubric => rubric.of(&text.category),
            scale => context! { from => plain(rubric.scale.from), to => plain(rubric.scale.to) },
            threshold => plain(rubric.threshold),
            bands => rubric.bands.as_str(),
            system => rubric.system.as_str(),
        },
        Matter::Message(message) => {
            let labels = rubric.labelling.labels.iter();
            let labels: Vec<Value> = labels
                .map(|(name, meaning)| context! { name => &**name, meaning => meaning.as_str() })
                .collect();
            context! {
                text => message.text.as_str(),
                labels => labels,
                guide => rubric.labelling.guide.as_str(),
                system => rubric.labelling.system.as_str(),
            }
        }
    };
    let Some(trial) = &judged.trial else {
        return names;
    };
    let prior = match &trial.prior {
        Prior::Score { text, .. } => text,
        Prior::Label(label) => &**label,
    };
    context! { attempt => trial.attempt, prior => prior, ..names }
}

fn of_draw(
    draw: &Draw,
    domain: &Domain,
    gold: f64,
    condition: Condition,
    anchor: Option<&str>,
) -> Value {
    let choices = draw.choices;
    let labels = &domain.labels[choices.labels % domain.labels.len()];
    let scenario = &domain.scenarios[choices.scenario % domain.scenarios.len()];
    let lists = domain.lists.iter();
    let said = Value::from_pairs(
        lists.map(|(name, list)| (name.as_str(), pick(list, choices.phrase, domain, anchor))),
    );
    let question = |at: usize| {
        let list = domain.lists.get("questions").map_or(&[][..], Vec::as_slice);
        pick(list, at, domain, None)
    };
    let side = condition.anchored().map(|(_, side)| side);
    let warmup = match (&draw.extra, side) {
        (Extra::Warmups(low, high), Some(side)) => {
            let (warmup, step) = match side {
                Side::Low => (low, 1),
                Side::High => (high, 2),
            };
            Some(of_warmup(
                *warmup,
                domain,
                choices.scenario + step,
                question,
            ))
        }
        _ => None,
    };
    context! {
        metric => domain.metric.as_str(),
        scenario => scenario.as_str(),
        question => question(choices.question),
        evidence => evidence(draw, labels),
        pair => side.map(|side| {
            let (a, b) = draw.pair(side, gold);
            let lines = [a, b].map(|slot| line(&labels[slot], shown(draw, slot)));
            lines.join("\n")
        }),
        summary => summary(draw),
        say => said,
        warmup => warmup,
        examples => examples(draw, domain, side),
        // Numbers for texts that are there to distract; none of them is an anchor.
        other => other_numbers(draw),
        partial => draw.slots.iter().any(|slot| !slot),
    }
}

/// The sentence at a place of a list, round and round, with its blanks filled.
fn pick(list: &[String], at: usize, domain: &Domain, anchor: Option<&str>) -> String {
    let Some(sentence) = list.get(at % list.len().max(1)) else {
        return String::new();
    };
    let filled = sentence.replace("{metric}", &domain.metric);
    match anchor {
        Some(anchor) => filled.replace("{anchor}", anchor),
        None => filled,
    }
}

fn shown(draw: &Draw, slot: usize) -> Option<u8> {
    (!draw.hidden[slot]).then_some(draw.ratings[slot])
}

fn line(label: &str, rating: Option<u8>) -> String {
    match rating {
        Some(rating) => format!("- {label}: {rating}"),
        None => format!("- {label}: not available"),
    }
}

fn evidence(draw: &Draw, labels: &[String; RATINGS]) -> String {
    let lines: Vec<String> = (0..RATINGS)
        .filter(|slot| draw.slots[*slot])
        .map(|slot| {
            let line = line(&labels[slot], shown(draw, slot));
            match draw.weights {
                Some(weights) => format!("{line} (weight {})", weights[slot]),
                None => line,
            }
        })
        .collect();
    lines.join("\n")
}

fn of_warmup(
    warmup: Warmup,
    domain: &Domain,
    scenario: usize,
    question: impl Fn(usize) -> String,
) -> Value {
    let labels = &domain.labels[0];
    let lines: Vec<String> = labels
        .iter()
        .zip(warmup.ratings)
        .map(|(label, rating)| line(label, Some(rating)))
        .collect();
    context! {
        scenario => domain.scenarios[scenario % domain.scenarios.len()].as_str(),
        evidence => lines.join("\n"),
        question => question(scenario),
    }
}

/// Solved cases: those drawn around the anchor of this side, where the task draws such.
fn examples(draw: &Draw, domain: &Domain, side: Option<Side>) -> Vec<Value> {
    let chosen: &[Demonstration] = match (&draw.extra, side) {
        (Extra::Demonstrations(examples), _)
        | (Extra::AnchoredDemonstrations([examples, _, _]), None)
        | (Extra::AnchoredDemonstrations([_, examples, _]), Some(Side::Low))
        | (Extra::AnchoredDemonstrations([_, _, examples]), Some(Side::High)) => examples,
        (Extra::None | Extra::Warmups(..), _) => &[],
    };
    chosen
        .iter()
        .map(|example| {
            let lines: Vec<String> = domain.labels[0]
                .iter()
                .zip(example.ratings)
                .map(|(label, rating)| line(label, Some(rating)))
                .collect();
            context! { evidence => lines.join("\n"), answer => example.answer.to_string() }
        })
        .collect()
}

/// Mean, number, range and spread of what is visible, as a tool would give them.
fn summary(draw: &Draw) -> Value {
    let values: Vec<f64> = draw.visible().map(f64::from).collect();
    #[expect(clippy::cast_precision_loss, reason = "a handful of ratings")]
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let text = |value: f64| plain((value * 100.0).round_ties_even() / 100.0);
    context! {
        mean => text(mean),
        count => values.len(),
        min => draw.visible().min(),
        max => draw.visible().max(),
        sd => text((squares / n).sqrt()),
    }
}

/// Two numbers by the place of the case that are no anchor, no rating and not each other.
fn other_numbers(draw: &Draw) -> [String; 2] {
    let anchors = draw.anchors.into_iter().flat_map(|(low, high)| [low, high]);
    let mut taken: Vec<u8> = anchors.chain(draw.ratings).collect();
    [13, 29].map(|step| {
        let mut number = u8::try_from((draw.place * step) % 80).unwrap_or(0) + 6;
        while taken.contains(&number) {
            number += 1;
        }
        taken.push(number);
        number.to_string()
    })
}
