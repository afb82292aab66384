//! The input of exploration: a contract, sealed once, and the letters that are tried under it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::super::testing::started;
use super::super::tests_alphabet::Letter;
use super::super::{Inherited, RunStarted};
use super::VARIANTS;
use crate::contract::{ExecutionContract, Label, Terms, Validators};

/// A contract with the letters that are tried in each of its states.
pub(in crate::kernel) struct Variant {
    pub(in crate::kernel) name: &'static str,
    pub(in crate::kernel) terms: fn() -> Terms,
    pub(in crate::kernel) letters: &'static [&'static [Letter]],
}

type Sealed = (Arc<ExecutionContract>, Arc<Validators>);

impl Variant {
    /// The start of its run: under a contract that names a parent's, it inherits text that has seen private data.
    pub(in crate::kernel) fn started(&self) -> RunStarted {
        let (contract, _) = self.sealed();
        let inherited = contract.parent_contract_hash.map(|_| Inherited {
            labels: [Label::Private].into(),
            messages: 2,
        });
        RunStarted {
            inherited,
            ..started(&contract)
        }
    }

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
