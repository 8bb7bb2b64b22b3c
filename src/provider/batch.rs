//! Batches: many calls handed over at once, answered within a day at half the price. Pure, as the dialects are.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// A call to the batch service, without the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchCall {
    /// Read something.
    Get(String),
    /// Send JSON.
    Post {
        /// Full address.
        url: String,
        /// JSON body.
        body: String,
    },
    /// Send a file as a form.
    Upload {
        /// Full address.
        url: String,
        /// Form fields beside the file.
        fields: Vec<(&'static str, &'static str)>,
        /// The file.
        file: String,
    },
}

/// A batch as the service describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The service's id.
    pub id: String,
    /// How far it is.
    pub state: BatchState,
    /// The service's word for it.
    pub word: String,
    /// Entries in all, where it says.
    pub entries: Option<u64>,
    /// Entries with an end, good or bad, where it says.
    pub ended: Option<u64>,
    /// Entries with a good end, where it says.
    pub completed: Option<u64>,
    /// The mark that was given at submission, where the service keeps one.
    pub tag: Option<String>,
    /// When it was made, in seconds since 1970.
    pub created: Option<i64>,
    /// Files that hold results.
    files: Vec<String>,
}

/// Whether a batch can still change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchState {
    /// It can.
    Running,
    /// It has ended, whole or in part.
    Ended,
}

/// How one entry of a batch ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchEntry {
    /// A response, good or bad, as a single call would have got it.
    Response {
        /// HTTP status.
        status: u16,
        /// JSON body.
        body: String,
    },
    /// Not run in time, or cancelled: it costs nothing and may be asked again.
    NotRun(String),
}

/// How a provider takes batches.
pub trait BatchApi: Send + Sync {
    /// The call that uploads the entries first, where one is needed. Entries are custom ids with request bodies.
    fn upload(&self, base_url: &str, entries: &[(String, String)]) -> Option<BatchCall>;

    /// The call that makes the batch. `uploaded` is the answer to the upload.
    fn create(
        &self,
        base_url: &str,
        entries: &[(String, String)],
        uploaded: Option<&Value>,
        tag: &str,
    ) -> BatchCall;

    /// The call that asks how far a batch is.
    fn status(&self, base_url: &str, id: &str) -> BatchCall;

    /// The call that lists the latest batches, or those before a batch.
    fn list(&self, base_url: &str, before: Option<&str>) -> BatchCall;

    /// Whether the service keeps the mark of a batch.
    fn keeps_marks(&self) -> bool;

    /// A batch from its description.
    fn batch(&self, json: &Value) -> Option<Batch>;

    /// The calls that fetch the results of an ended batch.
    fn results(&self, base_url: &str, batch: &Batch) -> Vec<BatchCall>;

    /// The custom id and the end of an entry, from one line of results.
    fn entry(&self, line: &Value) -> Option<(String, BatchEntry)>;

    /// Most entries and most bytes of one batch.
    fn largest(&self) -> (usize, usize);
}

/// Batches of `OpenAI`, for one endpoint.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenaiBatches {
    endpoint: &'static str,
}

pub(super) const OPENAI_CHAT: OpenaiBatches = OpenaiBatches {
    endpoint: "/v1/chat/completions",
};

pub(super) const OPENAI_RESPONSES: OpenaiBatches = OpenaiBatches {
    endpoint: "/v1/responses",
};

impl BatchApi for OpenaiBatches {
    fn upload(&self, base_url: &str, entries: &[(String, String)]) -> Option<BatchCall> {
        let mut file = String::new();
        for (id, body) in entries {
            let head = json!({"custom_id": id, "method": "POST", "url": self.endpoint}).to_string();
            // The body is JSON already and joins the line as it is.
            file.push_str(&head[..head.len() - 1]);
            file.push_str(",\"body\":");
            file.push_str(body);
            file.push_str("}\n");
        }
        Some(BatchCall::Upload {
            url: format!("{base_url}/files"),
            fields: vec![("purpose", "batch")],
            file,
        })
    }

    fn create(
        &self,
        base_url: &str,
        _entries: &[(String, String)],
        uploaded: Option<&Value>,
        tag: &str,
    ) -> BatchCall {
        let file = uploaded.map_or(Value::Null, |uploaded| uploaded["id"].clone());
        let body = json!({"input_file_id": file, "endpoint": self.endpoint, "completion_window": "24h", "metadata": {"wheel": tag}});
        BatchCall::Post {
            url: format!("{base_url}/batches"),
            body: body.to_string(),
        }
    }

    fn status(&self, base_url: &str, id: &str) -> BatchCall {
        BatchCall::Get(format!("{base_url}/batches/{id}"))
    }

    fn list(&self, base_url: &str, before: Option<&str>) -> BatchCall {
        let after = before.map_or_else(String::new, |id| format!("&after={id}"));
        BatchCall::Get(format!("{base_url}/batches?limit=100{after}"))
    }

    fn keeps_marks(&self) -> bool {
        true
    }

    fn batch(&self, json: &Value) -> Option<Batch> {
        let word = json["status"].as_str()?;
        let counts = &json["request_counts"];
        let file = |field: &str| json[field].as_str().map(str::to_owned);
        let why = json["errors"]["data"][0]["message"].as_str();
        Some(Batch {
            id: json["id"].as_str()?.to_owned(),
            state: match word {
                "completed" | "failed" | "expired" | "cancelled" => BatchState::Ended,
                _ => BatchState::Running,
            },
            word: why.map_or_else(|| word.to_owned(), |why| format!("{word}: {why}")),
            entries: counts["total"].as_u64(),
            ended: counts["completed"]
                .as_u64()
                .zip(counts["failed"].as_u64())
                .map(|(completed, failed)| completed.saturating_add(failed)),
            completed: counts["completed"].as_u64(),
            tag: json["metadata"]["wheel"].as_str().map(str::to_owned),
            created: json["created_at"].as_i64(),
            files: [file("output_file_id"), file("error_file_id")]
                .into_iter()
                .flatten()
                .collect(),
        })
    }

    fn results(&self, base_url: &str, batch: &Batch) -> Vec<BatchCall> {
        batch
            .files
            .iter()
            .map(|file| BatchCall::Get(format!("{base_url}/files/{file}/content")))
            .collect()
    }

    fn entry(&self, line: &Value) -> Option<(String, BatchEntry)> {
        let id = line["custom_id"].as_str()?.to_owned();
        let response = &line["response"];
        let entry = match response["status_code"].as_u64() {
            Some(status) => BatchEntry::Response {
                status: u16::try_from(status).ok()?,
                body: response["body"].to_string(),
            },
            None => BatchEntry::NotRun(
                line["error"]["message"]
                    .as_str()
                    .or(line["error"]["code"].as_str())
                    .unwrap_or("no reason given")
                    .to_owned(),
            ),
        };
        Some((id, entry))
    }

    fn largest(&self) -> (usize, usize) {
        (50_000, 200_000_000)
    }
}

/// Batches of Anthropic.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnthropicBatches;

pub(super) const ANTHROPIC: AnthropicBatches = AnthropicBatches;

impl BatchApi for AnthropicBatches {
    fn upload(&self, _base_url: &str, _entries: &[(String, String)]) -> Option<BatchCall> {
        None
    }

    fn create(
        &self,
        base_url: &str,
        entries: &[(String, String)],
        _uploaded: Option<&Value>,
        _tag: &str,
    ) -> BatchCall {
        let requests: Vec<String> = entries
            .iter()
            .map(|(id, body)| format!("{{\"custom_id\":{},\"params\":{body}}}", json!(id)))
            .collect();
        BatchCall::Post {
            url: format!("{base_url}/messages/batches"),
            body: format!("{{\"requests\":[{}]}}", requests.join(",")),
        }
    }

    fn status(&self, base_url: &str, id: &str) -> BatchCall {
        BatchCall::Get(format!("{base_url}/messages/batches/{id}"))
    }

    fn list(&self, base_url: &str, before: Option<&str>) -> BatchCall {
        let after = before.map_or_else(String::new, |id| format!("&after_id={id}"));
        BatchCall::Get(format!("{base_url}/messages/batches?limit=100{after}"))
    }

    fn keeps_marks(&self) -> bool {
        false
    }

    fn batch(&self, json: &Value) -> Option<Batch> {
        let word = json["processing_status"].as_str()?;
        let counts: BTreeMap<String, u64> =
            serde_json::from_value(json["request_counts"].clone()).unwrap_or_default();
        let all = counts
            .values()
            .fold(0, |all: u64, n| all.saturating_add(*n));
        let created = json["created_at"]
            .as_str()
            .and_then(|time| chrono::DateTime::parse_from_rfc3339(time).ok());
        Some(Batch {
            id: json["id"].as_str()?.to_owned(),
            state: if word == "ended" {
                BatchState::Ended
            } else {
                BatchState::Running
            },
            word: word.to_owned(),
            entries: (!counts.is_empty()).then_some(all),
            ended: counts.get("processing").map(|processing| all - processing),
            completed: counts.get("succeeded").copied(),
            tag: None,
            created: created.map(|time| time.timestamp()),
            files: Vec::new(),
        })
    }

    fn results(&self, base_url: &str, batch: &Batch) -> Vec<BatchCall> {
        // The address in the description may be another host's; the key goes only where it belongs.
        vec![BatchCall::Get(format!(
            "{base_url}/messages/batches/{}/results",
            batch.id
        ))]
    }

    fn entry(&self, line: &Value) -> Option<(String, BatchEntry)> {
        let id = line["custom_id"].as_str()?.to_owned();
        let result = &line["result"];
        let entry = match result["type"].as_str()? {
            "succeeded" => BatchEntry::Response {
                status: 200,
                body: result["message"].to_string(),
            },
            "errored" => {
                let error = &result["error"];
                // Either the error itself or the envelope that a single call gets.
                let kind = error["error"]["type"].as_str().or(error["type"].as_str());
                BatchEntry::Response {
                    status: if kind == Some("invalid_request_error") {
                        400
                    } else {
                        500
                    },
                    body: if error["error"].is_object() {
                        error.to_string()
                    } else {
                        json!({"type": "error", "error": error}).to_string()
                    },
                }
            }
            other => BatchEntry::NotRun(other.to_owned()),
        };
        Some((id, entry))
    }

    fn largest(&self) -> (usize, usize) {
        (100_000, 256_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_an_upload_are_whole_requests() {
        let entries = [("a".to_owned(), "{\"model\":\"m\"}".to_owned())];
        let Some(BatchCall::Upload { file, .. }) = OPENAI_CHAT.upload("http://x/v1", &entries)
        else {
            panic!("an upload is needed");
        };
        assert_eq!(
            serde_json::from_str::<Value>(&file).unwrap(),
            json!({"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m"}})
        );
        let BatchCall::Post { body, .. } = ANTHROPIC.create("http://x/v1", &entries, None, "t")
        else {
            panic!("a batch is posted");
        };
        assert_eq!(
            serde_json::from_str::<Value>(&body).unwrap(),
            json!({"requests": [{"custom_id": "a", "params": {"model": "m"}}]})
        );
    }

    #[test]
    fn ends_of_entries_are_told_apart() {
        let openai = |line: Value| OPENAI_CHAT.entry(&line).unwrap().1;
        assert_eq!(
            openai(
                json!({"custom_id": "a", "response": {"status_code": 200, "body": {"x": 1}}, "error": null})
            ),
            BatchEntry::Response {
                status: 200,
                body: "{\"x\":1}".into()
            }
        );
        assert_eq!(
            openai(json!({"custom_id": "a", "response": null, "error": {"code": "batch_expired"}})),
            BatchEntry::NotRun("batch_expired".into())
        );
        let anthropic = |result: Value| {
            ANTHROPIC
                .entry(&json!({"custom_id": "a", "result": result}))
                .unwrap()
                .1
        };
        assert_eq!(
            anthropic(json!({"type": "expired"})),
            BatchEntry::NotRun("expired".into())
        );
        assert!(matches!(
            anthropic(
                json!({"type": "errored", "error": {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}})
            ),
            BatchEntry::Response { status: 400, .. }
        ));
        let batch = ANTHROPIC
            .batch(&json!({"id": "b", "processing_status": "in_progress", "request_counts": {"processing": 3, "succeeded": 2}}))
            .unwrap();
        assert_eq!((batch.entries, batch.ended), (Some(5), Some(2)));
    }
}
