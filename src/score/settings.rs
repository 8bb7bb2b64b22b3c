//! What was sent with the samples of a cell besides the conversation.

use super::samples::Cell;

/// What was sent with a sample besides the conversation, without the seed of single samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Provider entry.
    pub provider: String,
    /// Model id as sent.
    pub model_id: String,
    /// Model ids that came back.
    pub returned: Vec<String>,
    /// Sampling and limits; the seed only says whether one was sent.
    pub sampling: crate::domain::Sampling,
    /// The start of the reply that was given.
    pub prefill: Option<String>,
    /// Parameters that the server refused.
    pub dropped: Vec<String>,
}

/// The distinct settings of a cell's samples.
pub(super) fn settings_of(cell: &Cell<'_>) -> Vec<Settings> {
    let mut all: Vec<Settings> = Vec::new();
    for sample in &cell.samples {
        let sent = &sample.record.sent;
        let settings = Settings {
            provider: sent.provider.to_string(),
            model_id: sent.model.to_string(),
            returned: Vec::new(),
            sampling: sent.sampling.clone(),
            prefill: sent.prefill.clone(),
            dropped: sent.dropped.clone(),
        };
        let place = all.iter().position(|known| {
            Settings {
                returned: Vec::new(),
                ..known.clone()
            } == settings
        });
        let place = place.unwrap_or_else(|| {
            all.push(settings);
            all.len() - 1
        });
        let known = &mut all[place];
        if let Some(returned) = &sample.record.returned_model
            && !known.returned.iter().any(|known| **known == **returned)
        {
            known.returned.push(returned.to_string());
            known.returned.sort();
        }
    }
    all
}
