//! What a client signs in place of a secret: a JSON Web Token (RFC 7523 §3) for one authorization server and one minute.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::SignatureScheme;
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::json;

use super::fault::OAuthFault;
use super::pkce::random_text;

/// How long it is good for, in seconds.
const LIFETIME_S: u64 = 60;
/// Bytes of each number of a signature by P-256.
const P256_BYTES: usize = 32;

/// What a key signs with, and what that is called (RFC 7518 §3.1, RFC 8037).
const ALGORITHMS: [(SignatureScheme, &str); 3] = [
    (SignatureScheme::ECDSA_NISTP256_SHA256, "ES256"),
    (SignatureScheme::ED25519, "EdDSA"),
    (SignatureScheme::RSA_PKCS1_SHA256, "RS256"),
];

/// The token of a client for an authorization server. `key` is a private key in PEM.
pub(super) fn sign(
    key: &str,
    client: &str,
    issuer: &str,
    now_unix_s: u64,
) -> Result<String, OAuthFault> {
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
        .map_err(|_| OAuthFault::Key("it is no private key in PEM"))?;
    let key = any_supported_type(&key).map_err(|_| OAuthFault::Key("its kind is not known"))?;
    let unfit = || OAuthFault::Key("it is neither P-256, Ed25519 nor RSA");
    let found = ALGORITHMS
        .iter()
        .find_map(|(scheme, name)| Some((key.choose_scheme(&[*scheme])?, *scheme, *name)));
    let (signer, scheme, algorithm) = found.ok_or_else(unfit)?;
    let claims = json!({
        "aud": issuer,
        "exp": now_unix_s.saturating_add(LIFETIME_S),
        "iat": now_unix_s,
        "iss": client,
        "jti": random_text()?,
        "sub": client,
    });
    let header = json!({"alg": algorithm, "typ": "JWT"});
    let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", part(&header), part(&claims));
    let failed = |_| OAuthFault::Key("it does not sign");
    let mut signature = signer.sign(message.as_bytes()).map_err(failed)?;
    if scheme == SignatureScheme::ECDSA_NISTP256_SHA256 {
        signature = plain(&signature).ok_or_else(unfit)?;
    }
    Ok(format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

/// The two numbers of a signature side by side, of fixed length, as RFC 7518 §3.4 wants them; they come as a sequence in DER.
fn plain(der: &[u8]) -> Option<Vec<u8>> {
    let (numbers, rest) = element(der, 0x30)?;
    let (r, numbers) = element(numbers, 0x02)?;
    let (s, numbers) = element(numbers, 0x02)?;
    if !(rest.is_empty() && numbers.is_empty()) {
        return None;
    }
    let mut out = Vec::with_capacity(2 * P256_BYTES);
    for number in [r, s] {
        let start = number.iter().position(|byte| *byte != 0);
        let number = number.get(start.unwrap_or(number.len())..)?;
        let zeros = P256_BYTES.checked_sub(number.len())?;
        out.extend(std::iter::repeat_n(0, zeros));
        out.extend_from_slice(number);
    }
    Some(out)
}

/// The content of an element of DER with that tag and a length of one byte, and what is behind it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[first, length], rest) = der.split_first_chunk::<2>()?;
    let length = usize::from(length);
    (first == tag && length < 0x80).then(|| rest.split_at_checked(length))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_signature_have_fixed_length() {
        let mut der = vec![0x30, 0x26, 0x02, 0x21, 0x00];
        der.extend([0x80; 32]);
        der.extend([0x02, 0x01, 0x07]);
        let mut expect = vec![0x80; 32];
        expect.extend([0; 31]);
        expect.push(7);
        assert_eq!(plain(&der), Some(expect));
        for cut in 0..der.len() {
            assert_eq!(plain(&der[..cut]), None, "{cut}");
        }
        assert_eq!(plain(&[&der[..], &[0]].concat()), None);
    }

    /// A key of this test alone.
    const KEY: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgu8w+iPbdwB2cFql5
3VABT+3yNmlWFU91NXNklSHycuChRANCAARyKxFam9i9lNCJV3cE38TVNpe7WGSn
3yyoidQNlXajkZVBdK73TSOobaDydNm4uYrKBNiutjHOlucyX6bEv1Yo
-----END PRIVATE KEY-----
";

    #[test]
    fn a_token_names_the_client_and_is_for_one_server_and_one_minute() {
        let token = sign(KEY, "robot", "https://a", 1_000).unwrap();
        let parts: Vec<Vec<u8>> = token
            .split('.')
            .map(|part| URL_SAFE_NO_PAD.decode(part).unwrap())
            .collect();
        let [header, claims, signature] = parts.try_into().unwrap();
        assert_eq!(header, br#"{"alg":"ES256","typ":"JWT"}"#);
        let mut claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
        let id = claims["jti"].take();
        assert_eq!(id.as_str().unwrap().len(), 43);
        let expect = json!({"aud": "https://a", "exp": 1_060, "iat": 1_000, "iss": "robot", "jti": null, "sub": "robot"});
        assert_eq!(claims, expect);
        assert_eq!(signature.len(), 64);
    }

    #[test]
    fn what_is_no_key_is_refused_without_being_quoted() {
        for key in [
            "",
            "secret",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
        ] {
            let fault = sign(key, "c", "https://h", 0).unwrap_err().to_string();
            assert!(
                fault.starts_with("sign with the private key: it"),
                "{fault}"
            );
        }
    }
}
