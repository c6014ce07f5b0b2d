import { ProductError } from '../errors/product-error.ts';
import { Field } from '../platform/field.ts';
import { tryParseJson } from '../platform/json.ts';

/** One table that the bosh CLI printed with `--json`, and when. */
export interface DirectorList {
  readonly path: string;
  readonly content: keyof typeof commandOf;
  /** The line of the CLI that names the director and the user. */
  readonly environment: string;
  /** The deployment that the command was limited to (`-d`). */
  readonly deployment: string | undefined;
  /** When the list was written, in milliseconds since the epoch. */
  readonly writtenAt: number;
  readonly vmCids: readonly string[];
  readonly diskCids: readonly string[];
  readonly snapshotCids: readonly string[];
}

/** The commands whose outputs are read, by the content of their tables. */
export const commandOf = {
  instances: 'bosh instances --details --json',
  disks: 'bosh disks --orphaned --json',
  snapshots: 'bosh -d DEPLOYMENT snapshots --json',
  orphaned_vms: 'bosh orphaned-vms --json',
} as const;

/**
 * The columns that name objects (bosh-cli: cmd/instance_table.go, disks.go, snapshots.go, orphaned_vms.go).
 */
const columnsOf = {
  instances: { vms: 'vm_cid', disks: 'disk_cids' },
  disks: { disks: 'disk_cid' },
  snapshots: { snapshots: 'cid' },
  orphaned_vms: { vms: 'vm_cid' },
} as const satisfies Record<DirectorList['content'], Partial<Record<'vms' | 'disks' | 'snapshots', string>>>;

/**
 * Parses the output of one of the commands of `commandOf`. Throws LIST_INVALID for any other text, and for
 * the output of a command that failed: an object that is missing in it would look unused.
 */
export function parseDirectorList(text: string, path: string, writtenAt: number): DirectorList {
  const invalid = (problem: string): ProductError =>
    new ProductError(
      'LIST_INVALID',
      `'${path}' is no complete list of a director: ${problem}; nothing was deleted`,
    );
  const document = tryParseJson(text);
  if (document === undefined)
    throw invalid('it is not JSON, or was cut off; write it again with the bosh CLI and --json');
  const root = new Field(document, '', (key, problem) => invalid(`${key === '' ? 'it' : key} ${problem}`));
  const lines = root
    .get('Lines')
    .list()
    .map((line) => line.string());
  if (lines.at(-1) !== 'Succeeded')
    throw invalid(
      'its command did not end with "Succeeded"; fix the error that it shows, and write it again',
    );
  const tables = root.get('Tables').list();
  const [first] = tables;
  if (first === undefined)
    throw invalid(`it has no table; write it with: ${Object.values(commandOf).join(', or: ')}`);
  const content = first.get('Content').oneOf(['instances', 'disks', 'snapshots', 'orphaned_vms']);
  const columns: Partial<Record<'vms' | 'disks' | 'snapshots', string>> = columnsOf[content];
  for (const table of tables) {
    table.get('Content').oneOf([content]);
    const header = table.get('Header').required().record();
    const missing = Object.values(columns).filter((column) => !Object.hasOwn(header, column));
    if (missing.length > 0)
      throw invalid(`it lacks the column ${missing.join(' and ')}; write it with: ${commandOf[content]}`);
  }
  const environment = matchLine(lines, /^Using environment '.*' as .*$/u)?.[0];
  if (environment === undefined) throw invalid('it does not name its director ("Using environment")');
  const cells = (column: string | undefined): string[] =>
    column === undefined ? [] : tables.flatMap((table) => cellsOf(table, column));
  return {
    ...{ path, content, environment, writtenAt },
    deployment: matchLine(lines, /^Using deployment '(.*)'$/u)?.[1],
    vmCids: cells(columns.vms),
    diskCids: cells(columns.disks),
    snapshotCids: cells(columns.snapshots),
  };
}

function matchLine(lines: readonly string[], pattern: RegExp): RegExpMatchArray | undefined {
  return lines.map((line) => line.match(pattern)).find((match) => match !== null) ?? undefined;
}

/** Returns the cids in a column. A cell with several has one in each line, and `-` or nothing is none. */
const cellsOf = (table: Field, column: string): string[] =>
  table
    .get('Rows')
    .required()
    .list()
    .flatMap((row) => row.get(column).string().split(/\s+/u))
    .filter((cell) => cell !== '' && cell !== '-');
