import type { VolumeName } from '../volumes/volume-name.ts';
import { parseVolumeName } from '../volumes/volume-name.ts';

/**
 * How far a volume is. `mounting` and `unmounting` are written before the work begins: after a kill -9 there
 * may be a mount then, or a part of one.
 */
export type Phase = 'created' | 'mounting' | 'mounted' | 'unmounting';

const phases: readonly string[] = ['created', 'mounting', 'mounted', 'unmounting'] satisfies Phase[];

/** What is kept of a volume on disk. It holds no secret. */
export interface VolumeRecord {
  readonly name: VolumeName;
  readonly phase: Phase;
  /** Options of Create, without secrets. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Options had secrets, which are not in `options`: only another Create brings them again. */
  readonly lacksSecrets: boolean;
  /** Mounts that were asked for without an id, as volman does. */
  readonly count: number;
  /** Mount ids of Docker. */
  readonly ids: readonly string[];
  /**
   * Docker mounts it: it stays after its last unmount, until Remove. volman never removes what it created.
   */
  readonly isKept: boolean;
  /** The start of the kernel that has the mount. */
  readonly bootId: string;
}

const version = 1;

/** The text of a record's file. */
export const recordText = (record: VolumeRecord): string => `${JSON.stringify({ version, ...record })}\n`;

/** Parses the text of a record's file; undefined where it is none. */
export function parseRecord(text: string): VolumeRecord | undefined {
  const value = parseObject(text);
  const { phase, options, lacksSecrets, count, ids, isKept, bootId } = value;
  const parsed = parseVolumeName(value['name']);
  if (value['version'] !== version || 'fault' in parsed || typeof bootId !== 'string') return undefined;
  if (typeof phase !== 'string' || !isPhase(phase) || !isObject(options)) return undefined;
  if (typeof isKept !== 'boolean' || typeof lacksSecrets !== 'boolean') return undefined;
  if (!isCount(count) || !isTexts(ids)) return undefined;
  return { name: parsed.name, phase, options, lacksSecrets, count, ids, isKept, bootId };
}

const isPhase = (text: string): text is Phase => phases.includes(text);

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}
