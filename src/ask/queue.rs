//! The samples of one model that wait for their turn.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use tokio::time::Instant;

/// Things to do now, things to do from some moment on, and things to do after everything else.
#[derive(Debug)]
pub(super) struct Queue<T> {
    ready: VecDeque<T>,
    later: BinaryHeap<Reverse<Timed<T>>>,
    last: BinaryHeap<Reverse<Timed<T>>>,
    number: u64,
}

/// Ordered by moment, then by arrival.
#[derive(Debug)]
struct Timed<T> {
    from: Instant,
    number: u64,
    value: T,
}

impl<T> PartialEq for Timed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<T> Eq for Timed<T> {}

impl<T> PartialOrd for Timed<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Timed<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.from, self.number).cmp(&(other.from, other.number))
    }
}

impl<T> Queue<T> {
    pub(super) fn new(ready: impl IntoIterator<Item = T>) -> Self {
        Self {
            ready: ready.into_iter().collect(),
            later: BinaryHeap::new(),
            last: BinaryHeap::new(),
            number: 0,
        }
    }

    fn timed(&mut self, from: Instant, value: T) -> Reverse<Timed<T>> {
        self.number += 1;
        Reverse(Timed {
            from,
            number: self.number,
            value,
        })
    }

    /// Before everything that waits without a moment.
    pub(super) fn first(&mut self, value: T) {
        self.ready.push_front(value);
    }

    /// From a moment on, then before what is merely ready.
    pub(super) fn later(&mut self, from: Instant, value: T) {
        let timed = self.timed(from, value);
        self.later.push(timed);
    }

    /// After everything that is ready, and not before a moment.
    pub(super) fn last(&mut self, from: Instant, value: T) {
        let timed = self.timed(from, value);
        self.last.push(timed);
    }

    /// Whether something can be taken now.
    pub(super) fn has(&self, now: Instant) -> bool {
        !self.ready.is_empty() || self.next_moment().is_some_and(|from| from <= now)
    }

    /// Takes the next.
    pub(super) fn take(&mut self, now: Instant) -> Option<T> {
        let due = |heap: &BinaryHeap<Reverse<Timed<T>>>| {
            heap.peek().is_some_and(|Reverse(timed)| timed.from <= now)
        };
        if due(&self.later) {
            return self.later.pop().map(|Reverse(timed)| timed.value);
        }
        if let Some(value) = self.ready.pop_front() {
            return Some(value);
        }
        due(&self.last)
            .then(|| self.last.pop())
            .flatten()
            .map(|Reverse(timed)| timed.value)
    }

    /// When something that waits for its moment can be taken.
    pub(super) fn next_moment(&self) -> Option<Instant> {
        [&self.later, &self.last]
            .into_iter()
            .filter_map(|heap| heap.peek())
            .map(|Reverse(timed)| timed.from)
            .min()
    }

    pub(super) fn len(&self) -> usize {
        self.ready.len() + self.later.len() + self.last.len()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn due_things_come_first_and_set_aside_things_last() {
        let now = Instant::now();
        let soon = now + Duration::from_secs(1);
        let mut queue = Queue::new(["a", "b"]);
        queue.last(now, "hung");
        queue.later(soon, "busy");
        queue.first("turn two");
        let mut taken = Vec::new();
        while let Some(next) = queue.take(now) {
            taken.push(next);
        }
        assert_eq!(taken, ["turn two", "a", "b", "hung"]);
        assert!(!queue.has(now) && queue.has(soon));
        assert_eq!(queue.next_moment(), Some(soon));
        assert_eq!(queue.take(soon), Some("busy"));
        assert_eq!(queue.len(), 0);
    }
}
