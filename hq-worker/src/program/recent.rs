use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, PoisonError},
};

/// Values that are costly to make, by a key; those that are of no use any more leave, then the oldest.
#[derive(Debug)]
pub(super) struct Recent<K, V> {
    limit: usize,
    is_of_use: fn(&V) -> bool,
    entries: Mutex<Entries<K, V>>,
}

#[derive(Debug)]
struct Entries<K, V> {
    values: BTreeMap<K, V>,
    order: VecDeque<K>,
}

impl<K: Ord + Clone, V: Clone> Recent<K, V> {
    /// Keeps at most `limit`, at least 1.
    pub(super) const fn new(limit: usize, is_of_use: fn(&V) -> bool) -> Self {
        Self { limit, is_of_use, entries: Mutex::new(Entries { values: BTreeMap::new(), order: VecDeque::new() }) }
    }

    /// The value of `key`, made by `make` where it is not known. Two threads may make it at once; one is kept.
    pub(super) fn get_or<E>(&self, key: &K, make: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let entries = || self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = entries().values.get(key) {
            return Ok(value.clone());
        }
        let value = make()?;
        let mut entries = entries();
        let Entries { values, order } = &mut *entries;
        values.retain(|_, value| (self.is_of_use)(value));
        order.retain(|key| values.contains_key(key));
        if values.insert(key.clone(), value.clone()).is_none() {
            order.push_back(key.clone());
            if order.len() > self.limit
                && let Some(oldest) = order.pop_front()
            {
                values.remove(&oldest);
            }
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_newest() {
        let recent = Recent::new(2, |_| true);
        let get = |key: u32, value: u32| recent.get_or(&key, || Ok::<_, ()>(value)).unwrap();
        assert_eq!((get(1, 10), get(1, 11), get(2, 20), get(3, 30)), (10, 10, 20, 30));
        assert_eq!((get(3, 31), get(2, 21), get(1, 12)), (30, 20, 12));
        assert_eq!(recent.get_or(&9, || Err("no")), Err("no"));
    }

    #[test]
    fn what_is_of_no_use_leaves_first() {
        let recent = Recent::new(2, |value| *value != 20);
        let get = |key: u32, value: u32| recent.get_or(&key, || Ok::<_, ()>(value)).unwrap();
        assert_eq!((get(1, 10), get(2, 20), get(3, 30)), (10, 20, 30));
        assert_eq!((get(1, 11), get(3, 31), get(2, 22)), (10, 30, 22));
    }
}
