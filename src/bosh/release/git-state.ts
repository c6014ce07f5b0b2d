import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { isSystemError, runProgram } from '../../platform/run-program.ts';

export interface GitState {
  /** The short hash; `non-git` outside of a repository, `empty` in a repository without a commit. */
  readonly commitHash: string;
  /** The output of `git status`; empty if nothing has changed. */
  readonly changes: string;
}

/**
 * Returns the git state of the directory (bosh-cli: releasedir/git_repo.go). Throws RELEASE_INVALID if it has
 * a `.git` that git cannot read.
 */
export async function readGitState(directory: string): Promise<GitState> {
  const status = await git(directory, ['status', '--porcelain=1']);
  if (status.error !== undefined) {
    const outside = !existsSync(join(directory, '.git')) && (await git(directory, ['rev-parse', '--git-dir'])).error;
    if (outside) return { commitHash: 'non-git', changes: '' };
    throw new ProductError('RELEASE_INVALID', `git cannot read the state of '${directory}': ${status.error}`);
  }
  const head = await git(directory, ['rev-parse', '--short', 'HEAD']);
  return { commitHash: head.error === undefined ? head.output.trim() : 'empty', changes: status.output.trim() };
}

interface GitResult {
  readonly output: string;
  readonly error?: string;
}

/**
 * Runs git. Disables core.fsmonitor, because a repository's configuration may name a program there, which git
 * would run.
 */
async function git(directory: string, args: readonly string[]): Promise<GitResult> {
  const options = ['-c', 'core.fsmonitor=false'];
  try {
    const { stdout, isStdoutCut, stderr, exitCode } = await runProgram({
      file: 'git',
      args: [...options, ...args],
      environment: process.env,
      directory,
    });
    if (isStdoutCut) return { output: '', error: `git ${args.join(' ')} wrote more than 64 MiB` };
    if (exitCode === 0) return { output: stdout };
    return { output: stdout, error: stderr.trim() || `git ended with exit code ${exitCode}` };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return { output: '', error: error.message };
  }
}
