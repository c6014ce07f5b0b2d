import type { VolumeName } from '../volumes/volume-name.ts';
import { parseVolumeName } from '../volumes/volume-name.ts';

/**
 * The phase of a volume. `mounting` and `unmounting` are written before the work begins: after a kill -9
 * there may be a mount, or a part of one.
 */
export type Phase = 'created' | 'mounting' | 'mounted' | 'unmounting';

const phases: readonly string[] = ['created', 'mounting', 'mounted', 'unmounting'] satisfies Phase[];

/** The stored record of a volume. It contains no secret. */
export interface VolumeRecord {
  readonly name: VolumeName;
  readonly phase: Phase;
  /** The options of Create, without secrets. */
  readonly options: Readonly<Record<string, unknown>>;
  /** True if the options had secrets, which are not in `options`. Only another Create provides them again. */
  readonly lacksSecrets: boolean;
  /** The number of mounts without an id; volman sends none. */
  readonly count: number;
  /** The mount ids of Docker. */
  readonly ids: readonly string[];
  /**
   * True for a volume that Docker mounts: it survives its last unmount until Remove. volman never calls
   * Remove, so its volumes are deleted at the last unmount.
   */
  readonly isKept: boolean;
  /** The boot id of the kernel that has the mount. */
  readonly bootId: string;
}

const version = 1;

/** Returns the text of a record's file. */
export const recordText = (record: VolumeRecord): string => `${JSON.stringify({ version, ...record })}\n`;

/** Parses the text of a record's file. Returns undefined if it is not a valid record. */
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
