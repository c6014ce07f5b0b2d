import { parseDocument } from 'yaml';
import { badRequest } from '../errors/status-errors.ts';
import { measure } from '../schema/json.ts';
import type { ParsedJson } from '../schema/parse-json.ts';

const maximumDepth = 200;

/**
 * One YAML document as the JSON that it stands for; of keys that stand twice the last one counts. `duplicates` are
 * sentences, as sigs.k8s.io/yaml words them. Throws ApiError 400; its text quotes keys at most, no values.
 */
export function parseYaml(text: string): ParsedJson {
  const strict = parseDocument(text, { uniqueKeys: true, prettyErrors: true });
  const duplicates = strict.errors
    .filter(({ code }) => code === 'DUPLICATE_KEY')
    .map(({ linePos, pos }) => {
      const key = /^["']?([^"':\s]*)/.exec(text.slice(pos[0]))?.[1] ?? '';
      return `yaml: line ${linePos?.[0].line ?? 0}: key "${key}" already set in map`;
    });
  const document = duplicates.length === 0 ? strict : parseDocument(text, { uniqueKeys: false });
  const [error] = document.errors;
  if (error !== undefined) {
    throw badRequest(`error decoding YAML: yaml: line ${error.linePos?.[0].line ?? 0}: ${error.code}`);
  }
  try {
    const value: unknown = document.toJS();
    if (measure(value).depth > maximumDepth) throw badRequest('error decoding YAML: it is nested too deeply');
    return { value, duplicates };
  } catch (failure) {
    // an alias that is not there, or too many of them
    if (failure instanceof ReferenceError)
      throw badRequest('error decoding YAML: an alias cannot be resolved');
    throw failure;
  }
}
