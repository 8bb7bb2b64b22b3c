//! The nouns of an anchoring run and their units.
//!
//! Nothing here reads a file, a clock or the network. Every other room speaks in these types.

mod condition;
mod conversation;
mod field;
mod ids;
mod judging;
mod money;
mod number;
mod outcome;
mod reply;
mod sample;
mod scored;
mod suite;
mod tier;

pub use condition::{Condition, Relevance, Side};
pub use conversation::{Conversation, Message, Prompt, Role, ToolCall};
pub use field::{Coalition, Field};
pub use ids::{ItemId, ModelName, PEOPLE, TaskName};
pub use judging::{Design, Digits, Given, Judging, Scale, Standard, Verdict};
pub use money::{Tokens, Usd, UsdPerMTok};
pub use number::{NotPositive, Positive, grouped, plain, round_significant};
pub use outcome::{Comparison, Loss, NoValue, Reading, Rule};
pub use reply::{ErrorClass, Finish, Reply, Served, Status, TokenCounts};
pub use sample::{KeyBase, Parameter, SampleKey, Sampling, Slot};
pub use scored::{Scored, Scoring, ScoringMode};
pub use suite::Suite;
pub use tier::Tier;
