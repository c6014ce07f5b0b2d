import { isObject, type JsonObject } from './json.ts';

/** Reads fields of an untrusted object, such as a body or the configuration, and collects the problems. */
export class Fields {
  readonly #map: JsonObject;
  readonly #path: string;
  readonly #problems: string[];
  readonly #maxLength: number;

  /**
   * Adds each problem to `problems`, with the path of its field. Texts may have at most `maxLength`
   * characters.
   */
  constructor(map: JsonObject, path: string, problems: string[], maxLength = Infinity) {
    this.#map = map;
    this.#path = path;
    this.#problems = problems;
    this.#maxLength = maxLength;
  }

  report(name: string, what: string): void {
    this.#problems.push(`${this.#path}${name} ${what}`);
  }

  /** Returns the value of a field; undefined for null. */
  value(name: string): unknown {
    return Object.hasOwn(this.#map, name) ? (this.#map[name] ?? undefined) : undefined;
  }

  /** Returns '' if the field is missing or invalid, and reports that. */
  text(name: string): string {
    if (this.value(name) === undefined) this.report(name, 'is missing');
    return this.optionalText(name) ?? '';
  }

  optionalText(name: string): string | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (typeof value === 'string' && value !== '' && value.length <= this.#maxLength) return value;
    const limit = this.#maxLength === Infinity ? '' : ` of at most ${this.#maxLength} characters`;
    this.report(name, `must be a text${limit}, not empty, and in quotes if it has only digits`);
    return undefined;
  }

  objects(name: string): readonly Fields[] {
    const value = this.value(name) ?? [];
    if (Array.isArray(value)) return value.map((entry, index) => this.item(name, index, entry));
    this.report(name, 'must be a list');
    return [];
  }

  map(name: string): JsonObject {
    const value = this.value(name);
    if (value === undefined) return {};
    if (isObject(value)) return value;
    this.report(name, 'must be an object of names and values');
    return {};
  }

  strings(name: string): readonly string[] | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    const texts = Array.isArray(value) ? value.filter((text) => typeof text === 'string') : [];
    if (Array.isArray(value) && texts.length === value.length) return texts;
    this.report(name, 'must be a list of texts');
    return [];
  }

  item(name: string, index: number, entry: unknown): Fields {
    const path = `${name}[${index}]`;
    if (!isObject(entry)) this.report(path, 'must be an object of names and values');
    return new Fields(isObject(entry) ? entry : {}, `${this.#path}${path}.`, this.#problems, this.#maxLength);
  }

  nested(name: string): Fields {
    return new Fields(this.map(name), `${this.#path}${name}.`, this.#problems, this.#maxLength);
  }
}
