//! What stands below the main tables: tiers, losses, settings.

use super::Board;
use crate::publish::format::{UNKNOWN, UNSCORED, losses, with_interval};
use crate::publish::markdown::{Align, table};
use crate::score::settings::Settings;

impl Board<'_> {
    pub(super) fn tiers(&self) -> String {
        let mut rows = Vec::new();
        for model in &self.models {
            for (task, cell) in self
                .own_cells(&model.model)
                .filter(|(_, cell)| cell.anchored)
            {
                let mut row = vec![model.model.to_string(), task.title.clone()];
                for tier in <crate::domain::Tier as strum::IntoEnumIterator>::iter() {
                    row.push(cell.tiers.get(&tier).map_or_else(String::new, |score| {
                        let n = format!("n={} of {}", score.usable, score.items);
                        match score.index {
                            Some(index) => format!("{} {n}", with_interval(index, score.interval)),
                            None => format!("{UNSCORED} {n}"),
                        }
                    }));
                }
                let moved = cell.tiers.get(&crate::domain::Tier::Known);
                row.push(moved.map_or_else(String::new, |known| {
                    format!("{} of {}", known.moved, known.usable)
                }));
                rows.push(row);
            }
        }
        table(
            &[
                ("model", Align::Left),
                ("task", Align::Left),
                ("known", Align::Right),
                ("fuzzy", Align::Right),
                ("fermi", Align::Right),
                ("known facts that moved", Align::Right),
            ],
            &rows,
        )
    }

    pub(super) fn losses(&self) -> String {
        let mut rows = Vec::new();
        for model in &self.models {
            for (task, cell) in self.own_cells(&model.model) {
                let lost: usize = cell.losses.values().sum();
                rows.push(vec![
                    model.model.to_string(),
                    task.title.clone(),
                    cell.samples.to_string(),
                    (cell.samples - lost.min(cell.samples)).to_string(),
                    losses(cell.losses.iter().map(|(loss, n)| (*loss, *n))),
                    cell.all.why().unwrap_or_default().to_owned(),
                ]);
            }
        }
        table(
            &[
                ("model", Align::Left),
                ("task", Align::Left),
                ("samples", Align::Right),
                ("usable", Align::Right),
                ("lost, by reason", Align::Left),
                ("not scored because", Align::Left),
            ],
            &rows,
        )
    }

    pub(super) fn settings(&self) -> String {
        let mut rows = Vec::new();
        for model in &self.models {
            let mut seen: Vec<(Settings, Vec<&str>, u32)> = Vec::new();
            for (task, cell) in self.own_cells(&model.model) {
                for settings in &cell.settings {
                    match seen
                        .iter_mut()
                        .find(|(known, _, epochs)| known == settings && *epochs == cell.epochs)
                    {
                        Some((_, tasks, _)) => tasks.push(task.name.as_str()),
                        None => {
                            seen.push((settings.clone(), vec![task.name.as_str()], cell.epochs));
                        }
                    }
                }
            }
            for (settings, tasks, epochs) in seen {
                let sampling = &settings.sampling;
                let sent = |value: Option<String>| value.unwrap_or_else(|| UNSCORED.to_owned());
                rows.push(vec![
                    model.model.to_string(),
                    tasks.join(", "),
                    format!("{}/{}", settings.provider, settings.model_id),
                    if settings.returned.is_empty() {
                        UNKNOWN.to_owned()
                    } else {
                        settings.returned.join(", ")
                    },
                    sent(sampling.temperature.map(|value| value.to_string())),
                    sent(sampling.top_p.map(|value| value.to_string())),
                    sent(sampling.seed.map(|_| "yes".to_owned())),
                    sent(sampling.max_output_tokens.map(|value| value.to_string())),
                    sent(sampling.reasoning_effort.clone()),
                    sent(settings.prefill.clone()),
                    if settings.dropped.is_empty() {
                        "none".to_owned()
                    } else {
                        settings.dropped.join(", ")
                    },
                    epochs.to_string(),
                ]);
            }
        }
        table(
            &[
                ("model", Align::Left),
                ("tasks", Align::Left),
                ("asked", Align::Left),
                ("answered by", Align::Left),
                ("temperature", Align::Right),
                ("top_p", Align::Right),
                ("seed", Align::Left),
                ("output limit", Align::Right),
                ("effort", Align::Left),
                ("prefill", Align::Left),
                ("dropped", Align::Left),
                ("epochs", Align::Right),
            ],
            &rows,
        )
    }
}
