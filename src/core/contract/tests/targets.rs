//! Tests of `targets`.

use crate::contract::targets::*;

#[test]
fn the_usual_key_goes_to_the_providers_own_hosts_alone() {
    let check = |address: &str, sent: bool| {
        let got = ProviderType::Openai.key_env_at(address);
        assert_eq!(got, sent.then_some("OPENAI_API_KEY"), "{address}");
    };
    check("https://api.openai.com/v1", true);
    check("HTTPS://API.OPENAI.COM:443/v1?x=y", true);
    check("https://eu.api.openai.com/v1", true);
    for other in [
        "http://api.openai.com/v1",
        "https://api.openai.com:8443/v1",
        "https://api.openai.com./v1",
        "https://api.openai.com.example.org/v1",
        "https://api.openai.com@example.org/v1",
        "https://example.org/https://api.openai.com/v1",
        "https://example.org\\@api.openai.com/v1",
        "https://xapi.openai.com/v1",
        "https://api.openai.com%2eexample.org/v1",
        "https://127.0.0.1/v1",
        "api.openai.com",
        "",
    ] {
        check(other, false);
    }
    for kind in ProviderType::ALL {
        let default_value = kind.usual_base_url();
        let sent = default_value.and_then(|address| kind.key_env_at(address));
        assert_eq!(sent, kind.usual_key_env(), "{kind:?}");
    }
}

#[test]
fn an_address_ends_as_the_usual_one_of_its_type_does() {
    let check = |kind: ProviderType, address: &str, expect: Option<&str>| {
        assert_eq!(kind.lacking_end(address), expect, "{address}");
    };
    check(ProviderType::Openai, "http://h:1", Some("/v1"));
    check(ProviderType::Openai, "http://h:1/", Some("/v1"));
    check(ProviderType::Openai, "http://h:1/v1/", None);
    check(ProviderType::Openai, "http://h/v1?a=[SECRET]", None);
    check(ProviderType::Google, "http://h/v1", Some("/v1beta"));
    check(ProviderType::Ollama, "http://h:1", None);
    check(ProviderType::Scripted, "http://h:1", None);
}

#[test]
fn a_version_names_the_wire_protocol_and_the_profile() {
    for profile in TextProfile::ALL {
        for wire in ["ollama-chat", "openai-chat", "openrouter-chat"] {
            let alone = format!("{wire}/1");
            let version = profile.over(&alone).unwrap();
            assert_eq!(version, format!("{wire}+{}/1", profile.as_str()));
            let split = TextProfile::of_version(version);
            assert_eq!(split, Some((alone.as_str(), profile)));
        }
        let read: TextProfile = serde_json::from_str(&format!("{:?}", profile.as_str())).unwrap();
        assert_eq!(read, profile);
    }
    assert_eq!(TextProfile::Hermes.over("other/1"), None);
    assert_eq!(TextProfile::of_version("openai-chat/1"), None);
    assert_eq!(TextProfile::of_version("openai-chat+other/1"), None);
}
