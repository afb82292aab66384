//! The corpus of this build. `MONOLITH_BLESS=1 cargo test --test it corpus` regenerates the list.

macro_rules! corpus {
    ($($group:literal: [$($name:literal,)*],)*) => {
        &[$($((
            concat!($group, "/", $name),
            include_str!(concat!("../../corpus/", $group, "/", $name, ".yaml")),
        ),)*)*]
    };
}

/// The base of every case.
pub(super) const BASE: &str = include_str!("../../corpus/base.yaml");

/// Every case: its id and its text, sorted by id.
pub(super) const CASES: &[(&str, &str)] = corpus![
    "abort": [
        "before_timeout", "in_flight", "in_precheck", "parent", "while_a_call_runs", "while_waiting",
    ],
    "accounting": [
        "aborted", "auth", "cost_that_is_no_amount", "dropped", "fallback", "priced", "provider_cost_wins", "rejected",
        "report_native", "resumed", "tools", "xml_calls", "xml_report_fails", "xml_report_unproven",
    ],
    "approval": [
        "abort", "denied", "given", "of_other_arguments", "only_signed_answers_count", "question", "question_refused",
        "question_stopped", "rule_asks", "rule_denies", "stands_outside_the_timeouts", "stop", "too_late",
    ],
    "attempts": [
        "blank", "blank_withheld", "content_filter", "content_filter_two_targets", "cut_by_length",
        "cut_with_whole_call", "invalid_turn_moves_on", "mixed_optional", "mixed_required", "mixed_required_with_proof",
        "provider_errors_only", "reasoning_only", "reasoning_only_to_the_end", "refusal_beside_errors",
        "refusal_one_target", "refusal_then_answer", "refusal_two_targets", "refusals_use_up_the_attempts",
        "targets_take_turns",
    ],
    "batch": [
        "cut_on_a_character", "envelope_of_another_call", "in_order", "largest_target_limits_the_result",
        "limit_below_the_marker", "malformed_beside_a_running_call", "malformed_in_the_middle", "parallel",
        "result_that_one_target_holds",
    ],
    "budget": [
        "cache_reads_count", "cost_exact", "cost_exceeded", "cost_first_request", "cost_next", "cost_next_exact",
        "cost_unknown_price", "excess_calls", "failed_attempts_count", "first_request", "first_request_exact",
        "identical_calls", "identical_calls_differ", "last_inference", "last_token", "malformed_on_last_inference",
        "max_calls", "max_calls_exact", "max_calls_per_tool", "narration_on_last_inference", "next_inference",
        "next_token", "retry_left_no_inference_left", "token_exceeded", "token_exceeded_before_call",
    ],
    "core": [
        "entries_of_a_call", "forbidden_answer", "forbidden_call", "malformed", "malformed_envelope", "narration",
        "optional_with_call", "optional_without_call", "oversized_result", "step_timeout", "tool_timeout_then_call",
        "tool_timeout_then_prose", "valid_call",
    ],
    "cycle": [
        "across_turns", "dropped_calls_do_not_count", "exception", "exception_used_up", "not_neighbours",
        "timed_out_call_counts", "within_a_batch", "within_a_message",
    ],
    "dialect": [
        "anthropic_call_without_arguments_in_a_stream", "anthropic_cut_call_beside_a_whole_one",
        "anthropic_cut_call_shows_an_empty_object", "anthropic_error_in_a_stream", "anthropic_null_input",
        "anthropic_paused_turn", "gemini_blocked_prompt", "gemini_call_without_arguments", "gemini_malformed_call",
        "ollama_error_in_a_stream", "ollama_stream_without_end", "openai_filter_without_message",
        "responses_call_of_another_kind", "responses_failed",
    ],
    "flow": [
        "asked", "denied", "denied_strict", "summary", "trifecta", "unless_given",
    ],
    "format": [
        "args_cut_by_length", "args_duplicate_key", "args_not_object", "arguments_cut_not_strict",
        "arguments_repaired_not_strict", "arguments_repaired_strict", "body_of_another_shape", "duplicate_id",
        "invalid_arguments_strict", "invalid_before_limits", "invalid_report_beside",
        "invalid_turn_takes_no_format_retry", "invalid_turns_are_reset", "malformed_beats_attempts", "name_missing",
        "names_and_arguments_not_strict", "no_call_can_be_read_not_strict", "only_faulty_calls_not_strict",
        "outside_before_invalid", "outside_name_strict", "recovered_not_strict", "recovered_strict",
        "rejection_is_recorded", "report_in_the_last_invalid_turn", "retries_are_of_the_run", "retry_in_the_next_turn",
        "retry_succeeds", "sibling_not_strict", "sibling_of_a_malformed_call", "siblings_that_cannot_run_not_strict",
        "three_invalid_turns", "unknown_name_by_a_look_alike", "unknown_name_by_case", "unknown_name_strict",
        "unreadable_call_of_a_forbidden_tool",
    ],
    "gate": [
        "breached", "call_through_a_closed_mask", "no_excerpt", "open_after_a_call", "switched_off",
        "text_beside_a_call", "text_beside_a_violating_call", "text_beside_an_invalid_call", "text_of_a_refusal",
    ],
    "preflight": [
        "all_checks_are_recorded", "allowed_tool_unavailable", "backend_unavailable", "context_feasible",
        "context_infeasible", "first_request_drops_a_target", "first_request_too_large",
        "first_request_too_large_without_tools", "format_version", "four_format_retries", "hash_mismatch",
        "no_invalid_turn_allowed", "one_of_two_backends", "page_chat", "page_disagrees", "pin_changed",
        "profile_incompatible", "provenance_missing", "required_with_one_inference", "required_with_one_turn",
        "required_without_allowed_tools", "reserves_of_a_contract_file", "rule_about_an_unknown_tool",
        "semantics_version", "started_with_another_contract", "strict_with_two_format_retries", "tool_unavailable",
        "tool_unavailable_optional", "window_of_the_author", "window_unknown", "windows_of_two_sizes",
    ],
    "proof": [
        "cancelled", "connection_lost", "failing_calls", "failing_calls_must_succeed", "later_success", "tool_changed",
    ],
    "provider": [
        "address_not_found", "auth_after", "auth_before", "error_in_a_response", "model_not_found", "no_model_found",
        "no_model_found_any_more", "quota_after", "quota_before", "request_refused", "sample_refused",
    ],
    "rate_limit": [
        "cycle_of_targets_not_of_attempts", "dropped_target_is_no_part_of_the_cycle", "no_attempt_left",
        "one_of_two_targets", "one_target", "one_target_twice_is_no_cycle", "retry_after", "retry_after_unreadable",
        "two_targets", "wait_past_the_deadline", "wait_past_the_step",
    ],
    "resume": [
        "contract_changed_before_the_first_inference", "contract_mutated", "cycle_across_a_resume", "lost_call",
        "lost_idempotent_call", "lost_inference", "lost_probe", "lost_wait", "suspended_before_a_request",
        "suspended_issues_nothing", "suspended_past_a_deadline", "suspended_then_aborted", "suspended_to_the_end",
        "suspended_wait", "suspended_while_asked", "too_often", "tools_changed",
    ],
    "sampling": [
        "abort", "accounting", "answered", "last_inference", "last_inference_but_one", "no_lost", "no_provider_error",
        "not_granted", "spends_the_tokens", "step_timeout", "stop", "suspended", "unknown",
    ],
    "session": [
        "accounting_of_a_call", "accounting_of_a_fallback", "accounting_of_a_request", "accounting_of_dropped_calls",
        "attempts_1", "attempts_3", "attempts_last_succeeds", "attempts_of_three_targets",
        "attempts_used_up_turn_fails", "base64", "batch", "batch_excess", "batch_invalid_strict", "batch_is_no_proof",
        "batch_is_not_cut", "batch_malformed", "calls_above_the_limit", "calls_equal_the_limit",
        "closing_turn_goes_round", "context_closing_does_not_fit", "context_closing_fits", "context_in_flight",
        "context_no_tool_after_a_drop", "context_of_a_failed_attempt", "context_of_a_notice", "context_of_a_response",
        "context_of_no_tools", "context_of_the_offered_tools", "context_of_two_results", "context_provider_overflow",
        "context_ratio", "context_ratio_above", "context_ratio_equal", "context_report", "context_result_above",
        "context_result_equal", "context_setting_all_fit", "context_setting_answer", "context_setting_buffer",
        "context_setting_window", "context_turn_above", "context_turn_below", "context_turn_equal",
        "context_two_targets", "context_two_targets_result", "cut_2_bytes", "cut_3_bytes", "cut_4_bytes",
        "cut_error_of_a_tool", "cut_limit_below_the_notice", "cut_marker_of_characters", "cut_no_character_fits",
        "cut_not_at_the_limit", "cut_notice", "cut_one_above_the_limit", "cut_whole_is_evidence",
        "empty_calls_of_a_filter", "empty_is_asked_again", "empty_of_unseen_characters", "exit_arguments",
        "exit_contract", "exit_report", "exit_servers", "failed_report_collapses_turns", "failed_report_is_recorded",
        "failed_report_under_required", "fallback_fails_to_the_end", "fallback_must_pass_the_format",
        "format_is_a_constant", "format_markdown", "format_markdown_mermaid", "format_mismatch", "format_mismatch_json",
        "format_pipe", "format_sub_agent", "format_text", "format_tty", "invalid_calls_strict", "json_schema",
        "json_schema_broken", "json_schema_repaired_deep", "key_refused", "key_refused_later",
        "last_attempt_of_the_last_turn", "last_valid_report_counts", "limited_all_targets", "limited_backoff_doubles",
        "limited_other_target_at_once", "limited_retry_after_seconds", "limited_to_the_end",
        "malformed_goes_to_the_next_target", "max_turns_1", "max_turns_without_a_report", "native_requires_a_call",
        "no_size_guard", "one_turn_one_attempt", "order_ends_with_text", "order_of_messages",
        "overflow_in_the_first_request", "progress", "progress_alone", "progress_in_the_closing_turn",
        "progress_proves_nothing", "prose_is_no_report", "prose_to_the_end", "queue_that_is_missing", "quota_used_up",
        "reasoning_is_kept", "reasoning_is_mapped", "reasoning_is_sent", "reasoning_only", "repair_is_recorded",
        "report_base64_broken", "report_behind_the_gate", "report_beside_a_call_that_proves_nothing",
        "report_beside_calls", "report_cut_by_length", "report_fails_to_the_end", "report_forbidden", "report_markdown",
        "report_raw", "report_resume", "report_terms_without_completion", "report_without_proof",
        "report_without_tools", "reports_are_not_offered", "required_text_fallback", "required_until_proof",
        "result_of_a_full_context", "result_of_a_json_report", "result_of_a_report", "result_of_a_slack_report",
        "result_of_a_text_fallback", "retries_are_no_turns", "sampling_by_provider_and_model", "sampling_off",
        "sampling_with_every_request", "schema_that_is_none", "slack", "status_is_not_the_models",
        "stop_answers_a_call_that_waits", "stop_before_the_first_request", "stop_takes_the_report",
        "stop_while_a_call_runs", "stop_while_approval_waits", "stop_while_limited", "stop_while_the_model_answers",
        "stop_without_a_report", "sub_agent_is_opaque", "text_beside_withheld_calls", "tool_errors_are_told",
        "tool_timeout_is_told", "turns_and_their_calls", "turns_are_never_passed", "turns_exhausted_report",
        "unknown_tools_are_told", "unparsable_call_alone", "unparsable_is_told", "unreadable_report",
        "valid_arguments_are_untouched", "waits_longest_of_three", "waits_never_for_other_faults",
        "waits_quota_asks_nobody_else", "waits_retry_after_as_a_date", "xml_another_nonce", "xml_arguments_count_twice",
        "xml_attempts_and_targets", "xml_bad_payload", "xml_batch", "xml_calls", "xml_calls_above_the_limit",
        "xml_context_guard", "xml_failed_call", "xml_failed_report", "xml_final", "xml_final_failed",
        "xml_final_message", "xml_final_native_report", "xml_final_numbered_slot", "xml_final_progress_is_native",
        "xml_final_report_behind_the_gate", "xml_forbidden", "xml_gate", "xml_json_broken",
        "xml_json_fields_are_its_own", "xml_json_report", "xml_last_report", "xml_message", "xml_mismatched_tags",
        "xml_native_call", "xml_next_is_not_kept", "xml_only_bad_tags", "xml_progress", "xml_progress_not_offered",
        "xml_reasoning_only", "xml_repaired_payload", "xml_report_behind_the_gate", "xml_report_format_mismatch",
        "xml_report_tag", "xml_result_is_cut", "xml_resume", "xml_slack_report", "xml_slots_go_on",
        "xml_tag_in_a_result", "xml_text_fallback", "xml_text_outside_tags", "xml_unclosed_call", "xml_unclosed_report",
        "xml_unclosed_report_cut", "xml_unclosed_report_unknown", "xml_unknown_tool",
        "xml_unreadable_payload_beside_a_call", "xml_withholds_definitions",
    ],
    "stop": [
        "budget_refuses", "closing_turn_spent", "during_another_closing_turn", "in_flight_answer", "in_flight_calls",
        "in_flight_without_proof", "in_precheck", "narration_in_flight", "twice_in_flight", "twice_in_precheck",
        "twice_while_a_call_runs", "while_a_call_runs", "while_waiting", "while_waiting_without_proof",
    ],
    "summary": [
        "abort", "beside_a_running_call", "by_a_target", "does_not_fit", "drops_one_of_two_targets",
        "drops_the_last_target", "drops_the_last_target_beside_a_report", "errors_are_cut", "last_inference",
        "last_inference_but_one", "next_call_waits", "no_blank", "no_budget", "no_by_length", "no_calls", "no_lost",
        "no_provider_error", "no_refused", "no_zero_width", "probe", "spends_the_tokens", "step_timeout", "stop",
        "stop_before", "told", "too_long", "two_in_flight", "two_in_flight_cost", "unknown",
    ],
    "synthesis": [
        "closing_turn_blank", "closing_turn_provider_errors", "context_closing_turn_spent",
        "first_request_does_not_fit", "forbidden_call_in_closing_turn", "max_turns", "next_request_does_not_fit",
        "next_request_fits_exactly", "next_target_is_too_small", "one_turn_optional", "overflow_in_a_stream",
        "overflow_in_closing_turn", "overflow_in_other_words", "overflow_takes_no_attempt", "provider_overflow",
        "provider_overflow_as_sent", "provider_overflow_unproven", "ratio_equal", "ratio_tripped",
        "result_does_not_fit", "result_fits_exactly", "result_one_too_long", "withheld_calls_with_text",
        "withheld_calls_without_text", "withheld_outside_name", "without_proof_context", "without_proof_max_turns",
    ],
    "text": [
        "json_call", "outcome_words", "result_that_looks_like_a_failure", "system_notice", "tool_call_tag",
        "tool_call_tag_forbidden", "tool_call_tag_required", "tool_failed",
    ],
    "text_profile": [
        "call_after_prose", "fenced_json", "forbidden", "hermes_call", "invented_result_beside_withheld_calls",
        "llama3_call", "malformed", "malformed_then_whole", "narration", "ollama_call",
        "one_unreadable_call_not_strict", "profile_disagrees", "qwen_call_after_reasoning",
        "qwen_function_without_tags_not_strict", "qwen_function_without_tags_strict", "qwen_functions", "two_calls",
        "unclosed_at_length", "unclosed_not_strict", "unclosed_strict",
    ],
    "timeout": [
        "exactly_at_the_limit", "one_past_the_limit", "precheck", "rest_of_the_batch", "step_restarts_with_the_turn",
        "timeout_and_budget", "total", "total_before_step",
    ],
];
