import type { JsonObject } from './operations/request.ts';
import { isObject } from './operations/request.ts';

/** Reads settings of one map and collects what is wrong with them. */
export class Settings {
  readonly #map: JsonObject;
  readonly #path: string;
  readonly #faults: string[];

  constructor(map: JsonObject, path: string, faults: string[]) {
    this.#map = map;
    this.#path = path;
    this.#faults = faults;
  }

  fault(name: string, what: string): void {
    this.#faults.push(`${this.#path}${name} ${what}`);
  }

  value(name: string): unknown {
    return Object.hasOwn(this.#map, name) ? (this.#map[name] ?? undefined) : undefined;
  }

  /** '' where it is missing or wrong, which is then a fault. */
  text(name: string): string {
    if (this.value(name) === undefined) this.fault(name, 'is missing');
    return this.optionalText(name) ?? '';
  }

  optionalText(name: string): string | undefined {
    const value = this.value(name);
    if (value === undefined || (typeof value === 'string' && value !== '')) return value;
    this.fault(name, 'must be a text; put digits into quotes');
    return undefined;
  }

  items(name: string): readonly Settings[] {
    const value = this.value(name) ?? [];
    if (Array.isArray(value)) return value.map((entry, index) => this.item(name, index, entry));
    this.fault(name, 'must be a list');
    return [];
  }

  map(name: string): JsonObject {
    const value = this.value(name);
    if (value === undefined) return {};
    if (isObject(value)) return value;
    this.fault(name, 'must be a map');
    return {};
  }

  texts(name: string): readonly string[] | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    const texts = Array.isArray(value) ? value.filter((text) => typeof text === 'string') : [];
    if (Array.isArray(value) && texts.length === value.length) return texts;
    this.fault(name, 'must be a list of texts');
    return [];
  }

  item(name: string, index: number, entry: unknown): Settings {
    const path = `${name}[${index}]`;
    if (!isObject(entry)) this.fault(path, 'must be a map');
    return new Settings(isObject(entry) ? entry : {}, `${this.#path}${path}.`, this.#faults);
  }

  nested(name: string): Settings {
    return new Settings(this.map(name), `${this.#path}${name}.`, this.#faults);
  }
}
