"""A BERT with our head and loss inside the Trainer of transformers.

pip install 'hiercos[transformers]' accelerate; python examples/transformers_trainer.py

The BERT is small and starts from random weights, to be quick: put `AutoModel.from_pretrained` in its place.
"""

from tempfile import TemporaryDirectory

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertModel,
    DataCollatorWithPadding,
    EvalPrediction,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
    set_seed,
)

from hiercos import HierCOSHead, HierCOSLoss, Taxonomy
from hiercos.data import load_dataset
from hiercos.geometry import leaf_scores
from hiercos.metrics import functional as HF


class HierarchicalTransformer(nn.Module):
    """A transformer, our head on the mean of its tokens, and our loss: all that Trainer asks for."""

    def __init__(self, transformer: PreTrainedModel, taxonomy: Taxonomy) -> None:
        super().__init__()
        self.transformer, self.loss = transformer, HierCOSLoss(taxonomy)
        self.head = HierCOSHead(transformer.config.hidden_size, taxonomy)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor | None = None) -> dict[str, Tensor]:
        """Tokens to the embedding z (B, N), with the loss where labels are given."""
        tokens = self.transformer(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask[:, :, None]
        z = self.head((tokens * mask).sum(dim=1) / mask.sum(dim=1))
        return {"logits": z} if labels is None else {"loss": self.loss(z, labels), "logits": z}


def word_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """A token for each word of the texts."""
    words = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    learning = trainers.WordLevelTrainer(special_tokens=["[PAD]", "[UNK]"], show_progress=False)
    words.train_from_iterator(texts, learning)
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]")


set_seed(0)
data = load_dataset("icd10cm:3,8")  # phrases of two chapters of ICD-10-CM
t, texts = data.taxonomy, [text.lower() for text in data.inputs]
tokenizer = word_tokenizer([texts[row] for row in data.rows("train")])
sizes = {"hidden_size": 128, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 256}
bert = BertModel(BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **sizes), add_pooling_layer=False)


def encoded(split: str) -> list[dict]:
    """Tokens and labels of a split."""
    rows = data.rows(split)
    return [{**tokenizer(texts[row], return_token_type_ids=False), "labels": int(data.labels[row])} for row in rows]


def metrics(prediction: EvalPrediction) -> dict[str, float]:
    """Top-1 accuracy and HOPS of the predicted embeddings."""
    scores, labels = leaf_scores(torch.tensor(prediction.predictions), t), torch.tensor(prediction.label_ids)
    right = scores.argmax(dim=1) == labels
    return {"top1": float(right.float().mean()), "hops": float(HF.hops(scores, labels, t).mean())}


with TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder,
        num_train_epochs=4,
        per_device_train_batch_size=64,
        learning_rate=3e-3,
        use_cpu=True,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    trainer = Trainer(
        HierarchicalTransformer(bert, t),
        arguments,
        train_dataset=encoded("train"),
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=metrics,
    )
    trainer.train()
    found = trainer.evaluate(encoded("test"))
print(f"test top-1 {found['eval_top1']:.3f}  HOPS {found['eval_hops']:.3f}")
