import { isScalar, LineCounter, parseDocument, visit } from 'yaml';
import type { Document } from 'yaml';
import { badRequest, tooLarge } from '../errors/status-errors.ts';
import { measure } from '../schema/json.ts';
import type { ParsedJson } from '../schema/parse-json.ts';

const maximumDepth = 200;
/** Clients of Kubernetes send JSON; this is what a person writes. It bounds the nodes, too. */
const maximumText = 64 * 1024;

/**
 * One YAML document as the JSON that it stands for; of keys that stand twice the last one counts. `duplicates` are
 * sentences, as sigs.k8s.io/yaml words them. Throws ApiError 400 and 413; its text quotes keys at most, no values.
 */
export function parseYaml(text: string): ParsedJson {
  if (text.length > maximumText)
    throw tooLarge(`Request entity too large: limit is ${maximumText} for YAML; send JSON`);
  const lineCounter = new LineCounter();
  // its own search for duplicates compares each key with each
  const document = parseDocument(text, { uniqueKeys: false, lineCounter });
  const [error] = document.errors;
  if (error !== undefined) {
    throw badRequest(`error decoding YAML: yaml: line ${error.linePos?.[0].line ?? 0}: ${error.code}`);
  }
  try {
    const value: unknown = document.toJS();
    if (measure(value).depth > maximumDepth) throw badRequest('error decoding YAML: it is nested too deeply');
    return { value, duplicates: duplicatesOf(document, lineCounter) };
  } catch (failure) {
    // an alias that is not there, or too many of them
    if (failure instanceof ReferenceError)
      throw badRequest('error decoding YAML: an alias cannot be resolved');
    throw failure;
  }
}

function duplicatesOf(document: Document.Parsed, lineCounter: LineCounter): readonly string[] {
  const duplicates: string[] = [];
  visit(document, {
    Map: (_, { items }) => {
      const keys = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (keys.has(key.value)) {
          const { line } = lineCounter.linePos(key.range?.[0] ?? 0);
          duplicates.push(`yaml: line ${line}: key "${String(key.value)}" already set in map`);
        }
        keys.add(key.value);
      }
    },
  });
  return duplicates;
}
