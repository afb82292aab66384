//! Values that are there once for all who use them at the same time. Does not know what they are.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Number of values before unused ones are looked for.
const FEW: usize = 64;

/// Values by a key of which they are made. An unused one goes.
#[derive(Debug)]
pub(super) struct Interned<K, V>(Mutex<Table<K, V>>);

#[derive(Debug)]
struct Table<K, V> {
    by_key: HashMap<K, Weak<V>>,
    /// At how many values the unused ones are looked for.
    full: usize,
}

impl<K, V> Default for Interned<K, V> {
    fn default() -> Self {
        Self(Mutex::new(Table {
            by_key: HashMap::new(),
            full: FEW,
        }))
    }
}

impl<K: Eq + Hash, V> Interned<K, V> {
    /// The value of that key, made where there is none that is in use.
    pub(super) fn value(&self, key: K, make: impl FnOnce(&K) -> V) -> Arc<V> {
        let found: Result<_, std::convert::Infallible> = self.try_value(key, |key| Ok(make(key)));
        match found {
            Ok(value) => value,
        }
    }

    /// The same where it may be that none can be made.
    pub(super) fn try_value<E>(
        &self,
        key: K,
        make: impl FnOnce(&K) -> Result<V, E>,
    ) -> Result<Arc<V>, E> {
        if let Some(value) = self.table().by_key.get(&key).and_then(Weak::upgrade) {
            return Ok(value);
        }
        // Making it may take a while: others need not wait for it. Of two that were made meanwhile the first is kept.
        let own = Arc::new(make(&key)?);
        let mut table = self.table();
        if let Some(value) = table.by_key.get(&key).and_then(Weak::upgrade) {
            return Ok(value);
        }
        if table.by_key.len() >= table.full {
            table.by_key.retain(|_, value| value.strong_count() > 0);
            table.full = table.by_key.len().saturating_mul(2).max(FEW);
        }
        table.by_key.insert(key, Arc::downgrade(&own));
        Ok(own)
    }

    fn table(&self) -> std::sync::MutexGuard<'_, Table<K, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_there_once_as_long_as_it_is_in_use() {
        let values = Interned::default();
        let made = std::cell::Cell::new(0);
        let value = |key: usize| {
            values.value(key, |key| {
                made.set(made.get() + 1);
                key * 10
            })
        };
        let first = value(1);
        assert_eq!((*first, *value(1), made.get()), (10, 10, 1));
        drop(first);
        assert_eq!((*value(1), made.get()), (10, 2));
        for key in 0..1_000 {
            value(key);
        }
        let kept = values.table().by_key.len();
        assert!(kept <= FEW, "{kept} are remembered");
    }
}
