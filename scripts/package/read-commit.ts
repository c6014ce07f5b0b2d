import { readGitState } from '../../src/bosh/release/git-state.ts';
import { runProgram } from '../../src/platform/run-program.ts';

export interface Commit {
  /** `non-git` if the directory is in no git repository. */
  readonly hash: string;
  /** The time of the commit in UTC, in ISO 8601; undefined outside of git. */
  readonly time: string | undefined;
  /** True if files differ from the commit. */
  readonly hasChanges: boolean;
}

/** Returns the commit of a checkout. Throws RELEASE_INVALID if it has a `.git` that git cannot read. */
export async function readCommit(directory: string): Promise<Commit> {
  const { commitHash, changes } = await readGitState(directory);
  if (commitHash === 'non-git' || commitHash === 'empty')
    return { hash: 'non-git', time: undefined, hasChanges: false };
  const { stdout } = await runProgram({
    file: 'git',
    args: ['-c', 'core.fsmonitor=false', 'log', '-1', '--format=%H %ct'],
    environment: process.env,
    directory,
  });
  const [hash = '', seconds = ''] = stdout.trim().split(' ');
  return { hash, time: new Date(Number(seconds) * 1000).toISOString(), hasChanges: changes !== '' };
}
