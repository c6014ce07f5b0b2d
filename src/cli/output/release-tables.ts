import { compareBytes } from '../../bosh/archive/pack-archive.ts';
import { printTable, type Terminal } from './terminal.ts';

interface PartRow {
  readonly name: string;
  readonly fingerprint: string;
  readonly digest: string;
  /** The packages that it uses or depends on. */
  readonly references: readonly string[];
  /** The stemcell of a compiled package, as `os/version`. */
  readonly stemcell?: string | undefined;
}

export interface ReleaseView {
  readonly name: string;
  readonly version: string;
  readonly commitHash: string;
  readonly uncommittedChanges: boolean;
  readonly archivePath: string | undefined;
  readonly jobs: readonly PartRow[];
  readonly packages: readonly PartRow[];
}

/** Prints the three tables of a release that the bosh CLI prints (bosh-cli: cmd/release_tables.go). */
export function printRelease(terminal: Terminal, release: ReleaseView): void {
  const { name, version, archivePath, jobs, packages } = release;
  const commit = `${release.commitHash}${release.uncommittedChanges ? '+' : ''}`;
  const archive = archivePath === undefined ? [] : [archivePath];
  printTable(terminal, {
    content: '',
    header: ['Name', 'Version', 'Commit Hash', ...archive.map(() => 'Archive')],
    rows: [[name, version, commit, ...archive]],
  });
  const isJson = terminal.structured !== undefined;
  const names = (list: readonly string[]): string => (isJson ? list.join('\n') : list.join(', '));
  const cells = (part: PartRow): string[] => [
    `${part.name}/${part.fingerprint}`,
    part.digest,
    names(part.references),
  ];
  const byName = (parts: readonly PartRow[]): readonly PartRow[] =>
    parts.toSorted((a, b) => compareBytes(a.name, b.name));
  printTable(terminal, {
    content: 'jobs',
    header: ['Job', 'Digest', 'Packages'],
    rows: byName(jobs).map(cells),
  });
  const isCompiled = packages.some(({ stemcell }) => stemcell !== undefined);
  printTable(terminal, {
    content: 'packages',
    header: ['Package', 'Digest', 'Dependencies', ...(isCompiled ? ['OS', 'OS Version'] : [])],
    rows: byName(packages).map((part) => [
      ...cells(part),
      ...(isCompiled ? splitStemcell(part.stemcell ?? '') : []),
    ]),
  });
}

function splitStemcell(stemcell: string): readonly string[] {
  const [os = '', version = ''] = stemcell.split('/');
  return [os, version];
}
