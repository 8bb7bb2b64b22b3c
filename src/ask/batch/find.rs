//! Finding batches whose id was never written down, in the service's own list.

use super::{BatchError, BatchLane, BatchSettings, as_json};
use crate::domain::ErrorClass;
use crate::provider::{Batch, ProviderError};
use crate::store::{LiveBatch, known_batches};

/// Most pages of a list of batches that are looked through.
const PAGES: usize = 50;

/// How far apart our clock and the service's may be, in seconds.
const CLOCKS_APART: i64 = 300;

impl BatchLane<'_> {
    /// Looks for batches whose id was never written down.
    pub(super) async fn find_lost(
        &mut self,
        wait: bool,
        settings: &BatchSettings<'_>,
    ) -> Result<(), BatchError> {
        let lost: Vec<LiveBatch> = self
            .log
            .live()
            .iter()
            .filter(|batch| batch.id.is_none())
            .cloned()
            .collect();
        let Some(oldest) = lost.iter().map(|batch| batch.at - CLOCKS_APART).min() else {
            return Ok(());
        };
        let Some(listed) = self.list_since(oldest, wait, settings).await? else {
            return Ok(());
        };
        let mut known = known_batches(settings.store)?;
        for batch in lost {
            let marked = self.api()?.keeps_marks();
            let mut candidates: Vec<&Batch> = listed
                .iter()
                .filter(|listed| !known.contains(&listed.id))
                .filter(|listed| match &listed.tag {
                    Some(tag) => *tag == batch.tag,
                    None if marked => false,
                    // A service that keeps no mark: one of the same size since. Its results tell whether it is ours.
                    None => {
                        listed.entries == Some(batch.entries.len() as u64)
                            && listed
                                .created
                                .is_some_and(|created| created >= batch.at - CLOCKS_APART)
                    }
                })
                .collect();
            candidates.sort_by_key(|listed| listed.created);
            match candidates.first() {
                Some(found) => {
                    known.insert(found.id.clone());
                    self.log.submitted(&batch.tag, &found.id)?;
                }
                None => self.log.abandon(&batch.tag, "the service never took it")?,
            }
        }
        Ok(())
    }

    /// The service's batches since a moment, newest first; `None` if the run stops.
    async fn list_since(
        &self,
        since: i64,
        wait: bool,
        settings: &BatchSettings<'_>,
    ) -> Result<Option<Vec<Batch>>, BatchError> {
        let mut listed: Vec<Batch> = Vec::new();
        for _ in 0..PAGES {
            let before = listed.last().map(|batch| batch.id.clone());
            let call = self.api()?.list(&self.http.base_url, before.as_deref());
            let Some(body) = self.patiently(&call, wait, settings).await? else {
                return Ok(None);
            };
            let json = as_json(&body)?;
            let Some(page) = json["data"].as_array() else {
                return Err(ProviderError::local(
                    ErrorClass::BadBody,
                    "the service's answer lists no batches",
                )
                .into());
            };
            let api = self.api()?;
            listed.extend(page.iter().filter_map(|json| api.batch(json)));
            let older = listed
                .last()
                .and_then(|batch| batch.created)
                .is_some_and(|created| created < since);
            if page.is_empty() || older || json["has_more"] != true {
                break;
            }
        }
        Ok(Some(listed))
    }
}
