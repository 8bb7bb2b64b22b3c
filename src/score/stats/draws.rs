//! Tables of random places, from one fixed seed, and kept: most cells have as many items, and share the draws.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use rand::rngs::ChaCha12Rng;
use rand::{RngExt, SeedableRng};

/// Seed of every bootstrap; the year of the wheel of fortune experiment.
pub const SEED: u64 = 1974;

/// Tables of draws above this many numbers are made anew each time rather than kept.
const KEPT: usize = 4_000_000;

/// `times` rows of `n` places among `n`, for statistics that are no means of items.
#[must_use]
pub fn draws_of(n: usize, times: usize) -> Arc<[u32]> {
    draws(n, times, 0)
}

/// The key of the random stream, as eight words: what another program needs to draw the same.
#[must_use]
pub fn seed_words() -> [u32; 8] {
    let seed = ChaCha12Rng::seed_from_u64(SEED).get_seed();
    std::array::from_fn(|word| {
        let at = word * 4;
        u32::from_le_bytes([seed[at], seed[at + 1], seed[at + 2], seed[at + 3]])
    })
}

/// `times` rows of `n` places among `n`.
pub(super) fn draws(n: usize, times: usize, stream: u64) -> Arc<[u32]> {
    draws_below(n, n, times, stream)
}

/// `times` rows of `n` numbers below a limit, from the seed and a stream of its own. Tables are kept: many cells have as
/// many items.
pub(super) fn draws_below(limit: usize, n: usize, times: usize, stream: u64) -> Arc<[u32]> {
    type Tables = Mutex<HashMap<(usize, usize, usize, u64), Arc<[u32]>>>;
    static TABLES: LazyLock<Tables> = LazyLock::new(Mutex::default);
    let make = || -> Arc<[u32]> {
        let mut rng = ChaCha12Rng::seed_from_u64(SEED);
        rng.set_stream(stream);
        let draw = |_| {
            let place: usize = rng.random_range(0..limit);
            u32::try_from(place).unwrap_or(u32::MAX)
        };
        (0..n * times).map(draw).collect()
    };
    if n * times > KEPT {
        return make();
    }
    let mut tables = TABLES.lock().expect("no panic while drawing");
    Arc::clone(tables.entry((limit, n, times, stream)).or_insert_with(make))
}
