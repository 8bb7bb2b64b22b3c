/// A family of tasks that are scored alike.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    strum::Display,
    strum::EnumString,
    strum::EnumIter,
    strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum Suite {
    /// Questions with a low and a high anchor beside them.
    #[default]
    Wheel,
    /// Cases with evidence, and a number that comes along in some channel.
    Anchorbench,
    /// Stimuli that differ in one number, and the probabilities of given answers.
    Spinner,
    /// Judges that may see an earlier verdict beside the text.
    Judge,
}
