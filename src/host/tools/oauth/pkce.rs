//! What makes an answer of the browser belong to one login: proof key (RFC 7636) and state. Sends nothing.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::fault::OAuthFault;

/// 256 random bits as 43 characters.
pub(super) fn random_text() -> Result<String, OAuthFault> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|_| OAuthFault::Randomness)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The challenge of a verifier by the method `S256`.
pub(super) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7636, appendix B.
    #[test]
    fn the_challenge_is_that_of_the_rfc() {
        assert_eq!(
            challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }

    #[test]
    fn no_two_verifiers_are_the_same() {
        let (one, two) = (random_text().unwrap(), random_text().unwrap());
        assert_ne!(one, two);
        assert_eq!(one.len(), 43);
    }
}
