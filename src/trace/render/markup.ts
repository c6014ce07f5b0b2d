import { oneLine } from '../../errors/text.ts';

/** Text in which everything untrusted is escaped. Only this file makes it from plain text. */
export type Markup = string & { readonly markup: unique symbol };

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Escapes a text for an element or an attribute in quotes, in HTML and in XML. XML cannot contain control
 * characters, half characters and U+FFFE, so these become `\u001b`.
 */
export function escapeText(text: string): Markup {
  const lines = text.toWellFormed().split('\n').map(oneLine).join('\n');
  return lines
    .replaceAll(/[&<>"']/gu, (character) => entities[character] ?? '')
    .replaceAll(/[\ufffe\uffff]/gu, '\ufffd') as Markup;
}

/**
 * Template tag: escapes each value that is not markup itself. A list is joined without a separator. Numbers
 * are rounded to hundredths.
 */
export function markup(
  parts: TemplateStringsArray,
  ...values: readonly (Markup | readonly Markup[] | number | PlainText)[]
): Markup {
  return parts.map((part, index) => `${part}${valueText(values[index])}`).join('') as Markup;
}

/** Plain text in a template of markup. */
export interface PlainText {
  readonly text: string;
}

/** Marks a text that a template must escape. */
export const plain = (text: string): PlainText => ({ text });

function valueText(value: Markup | readonly Markup[] | number | PlainText | undefined): string {
  if (value === undefined) return '';
  if (typeof value === 'number') return String(Math.round(value * 100) / 100);
  if (typeof value === 'string') return value;
  return 'text' in value ? escapeText(value.text) : value.join('');
}
