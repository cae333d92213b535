const english =
  /\b(?:not|no|never|none|nobody|nothing|nowhere|neither|nor|cannot|without|unable|hardly|barely|scarcely|except|unless)\b|n['’]t\b/gi
// German, French and Spanish words that mean nothing in English.
const european =
  /\b(?:nicht|kein(?:e[nmrs]?)?|niemals|ohne|jamais|aucune?|ne\s+\S+\s+pas|n['’]est\s+pas|nunca|ningun[oa]?|jamás)\b/gi
const chinese = /没有|不|没|無|无|非|未|别|勿|莫|否|毋/g
const japanese = /ません|ない|なかった/g
/** Chinese words in which those signs deny nothing. */
const affirming =
  /非常|不过|不仅|不但|不只|不光|不管|不论|不妨|不断|不久|差不多|对不起|不好意思|无论|无非|未来|未免|别的|别人|特别|分别|区别|类别|级别|性别|个别|识别|辨别|告别|别墅|非洲|是否|能否|无数|莫过于/g

/** How often each clause of a text denies. Clauses end at marks and at "but", "however", 但 and 而. */
export function negationsIn(text: string): readonly number[] {
  return text
    .normalize('NFKC')
    .replace(affirming, ' ')
    .split(/[.!?;,:。！？；，、：\n]+(?!\d)|\b(?:but|however|although|whereas)\b|但|而/i)
    .filter((clause) => /[\p{L}\p{N}]/u.test(clause))
    .map((clause) =>
      [english, european, chinese, japanese].reduce((sum, form) => sum + (clause.match(form)?.length ?? 0), 0),
    )
}
