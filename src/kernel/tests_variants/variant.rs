//! What exploration walks through: a contract, sealed once, and the letters that are tried under it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::super::tests_alphabet::Letter;
use super::VARIANTS;
use crate::contract::{ExecutionContract, Terms, Validators};

/// A contract with the letters that are tried in each of its states.
pub(in crate::kernel) struct Variant {
    pub(in crate::kernel) name: &'static str,
    pub(in crate::kernel) terms: fn() -> Terms,
    pub(in crate::kernel) letters: &'static [&'static [Letter]],
}

type Sealed = (Arc<ExecutionContract>, Arc<Validators>);

impl Variant {
    /// Its contract and the compiled schemas of its tools, made once.
    pub(in crate::kernel) fn sealed(&self) -> Sealed {
        static ALL: LazyLock<HashMap<&str, Sealed>> = LazyLock::new(|| {
            let seal = |variant: &Variant| {
                let contract = Arc::new(ExecutionContract::of_terms((variant.terms)()));
                let validators = Arc::new(Validators::compile(&contract));
                (variant.name, (contract, validators))
            };
            let all: HashMap<_, _> = VARIANTS.iter().map(seal).collect();
            assert_eq!(all.len(), VARIANTS.len(), "two variants of one name");
            all
        });
        ALL[self.name].clone()
    }
}
