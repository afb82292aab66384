//! Turns requests into tokens of one model. Does not generate.

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token_type::LlamaTokenAttr;
use llama_cpp_2::vocab::LlamaVocab;

use super::template::TemplateRenderer;
use monolith_core::adapter::{CONTROL_TOKENS, LocalRequest, Segment};

/// Makes tokens of requests for one model.
pub(super) struct Prompts<'m> {
    model: &'m LlamaModel,
    template: Option<Template>,
}

/// The template in the model's file.
struct Template {
    /// The texts of the control tokens.
    controls: Vec<String>,
    renderer: TemplateRenderer,
}

impl<'m> Prompts<'m> {
    pub(super) fn new(model: &'m LlamaModel, template: Option<TemplateRenderer>) -> Self {
        let template = template.map(|renderer| Template {
            controls: controls(model),
            renderer,
        });
        Self { model, template }
    }

    /// Checks that prompts can be laid out for this model, by its template, else with the control tokens of ChatML; else
    /// returns the reason.
    pub(super) fn can_be_laid_out(&self) -> Result<(), String> {
        let used = CONTROL_TOKENS.map(|name| Segment::Control(name.to_owned()));
        match self.template {
            Some(_) => Ok(()),
            None => self.tokens(&used).map(drop),
        }
    }

    /// The tokens of a request's prompt; with what is `generated` behind it, as where both are read as one text.
    pub(super) fn of(
        &self,
        request: &LocalRequest,
        generated: Option<&str>,
    ) -> Result<Vec<LlamaToken>, String> {
        match (&request.chat, &self.template) {
            (None, _) => {
                let mut segments = request.segments.clone();
                if let (Some(generated), Some(Segment::Text(last))) =
                    (generated, segments.last_mut())
                {
                    last.push_str(generated);
                    segments.push(Segment::Control(MESSAGE_END.to_owned()));
                }
                self.tokens(&segments)
            }
            (Some(chat), Some(template)) => {
                let mut pieces = template.renderer.render(chat, &template.controls)?;
                if let (Some(generated), Some(last)) = (generated, pieces.last_mut()) {
                    last.push_str(generated);
                }
                let mut tokens = self.tokens(&[])?;
                for piece in pieces {
                    tokens.extend(self.model.vocab().tokenize(piece.as_bytes(), false, true));
                }
                Ok(tokens)
            }
            (Some(_), None) => {
                let fault = "the request leaves its prompt to a template, and none is named";
                Err(fault.to_owned())
            }
        }
    }

    /// The tokens of segments, one after another.
    pub(super) fn tokens(&self, segments: &[Segment]) -> Result<Vec<LlamaToken>, String> {
        let vocab = self.model.vocab();
        let mut tokens = Vec::new();
        if vocab.should_add_bos() {
            tokens.push(vocab.bos());
        }
        for segment in segments {
            match segment {
                Segment::Text(text) => tokens.extend(vocab.tokenize(text.as_bytes(), false, false)),
                Segment::Control(name) => {
                    match vocab.tokenize(name.as_bytes(), false, true).as_slice() {
                        [token] if !is_text(&vocab, *token) => tokens.push(*token),
                        [_] => {
                            return Err(format!(
                                "the model's file types {name} as text, so that what a message says could pass for it"
                            ));
                        }
                        _ => {
                            return Err(format!(
                                "the model has no control token {name}: it is not made for ChatML"
                            ));
                        }
                    }
                }
            }
        }
        Ok(tokens)
    }
}

/// The end of a message.
const MESSAGE_END: &str = CONTROL_TOKENS[1];

/// Returns true if the engine also reads the token out of plain text: a file may type any token so.
fn is_text(vocab: &LlamaVocab<'_>, token: LlamaToken) -> bool {
    vocab.attr(token).contains(LlamaTokenAttr::UserDefined)
}

/// The texts of a model's control tokens, and of those that look like some and are typed as text.
fn controls(model: &LlamaModel) -> Vec<String> {
    let vocab = model.vocab();
    (0..vocab.n_tokens())
        .map(LlamaToken)
        .filter_map(|token| {
            let piece = vocab.token_to_piece(token, true, None);
            let text = String::from_utf8(piece)
                .ok()
                .filter(|text| !text.is_empty())?;
            let like_control = text.starts_with('<') && text.ends_with('>');
            let guarded = vocab.is_control(token)
                || vocab.is_eog(token)
                || like_control && is_text(&vocab, token);
            guarded.then_some(text)
        })
        .collect()
}
