import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable } from 'node:stream';

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * The environment of the node's helper programs: it contains no variable of a pod, and messages are in one
 * language.
 */
export const toolEnvironment = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
} as const;

/**
 * Runs a program of the host with exact arguments and collects its output, up to 64 KiB of each stream: cp(1)
 * names the files that it finds in a pod's volume. Resolves with any exit code (128 after a signal; the
 * signal's number is not added). Rejects if the program cannot start.
 */
export function runCommand(program: string, args: readonly string[]): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: toolEnvironment });
    const stdout = keepHead(child.stdout);
    const stderr = keepHead(child.stderr);
    child.on('error', reject);
    child.on('close', (code) => resolve({ exitCode: code ?? 128, stdout: stdout(), stderr: stderr() }));
  });
}

const perl = '/usr/bin/perl';

/**
 * The numbers of keyctl(2) and close(2) by processor. Neither a shell nor util-linux nor Node.js can call
 * keyctl, and they cannot close descriptors that they inherited.
 */
const systemCalls: Readonly<Record<string, readonly [string, string]>> = {
  x64: ['250', '3'],
  arm64: ['219', '57'],
};

/**
 * Arguments: the numbers of keyctl and close, the first descriptor to close, `always` if the command must not
 * keep the key ring, the command. Errors 38 (ENOSYS) and 1 (EPERM, from the filter of a container engine) are
 * ignored: then no program here can use keys.
 */
const perlScript = `
my ($keyctl, $close, $first, $always) = splice @ARGV, 0, 4;
if (syscall($keyctl + 0, 1, 0) < 0 && $! != 38 && $! != 1 && $always eq "always") { die "no session key ring of its own: $!\\n" }
opendir my $directory, "/proc/self/fd" or die "/proc/self/fd: $!\\n";
my @descriptors = grep { /^\\d+$/ && $_ >= $first } readdir $directory;
closedir $directory;
syscall($close + 0, $_ + 0) for @descriptors;
exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!\\n";
`;

/**
 * Returns a command that runs this command with a new session key ring and without the descriptors from
 * `first` on: a process inherits both, through every namespace. A user can create only a limited number of
 * key rings. If that fails, the command does not start if `required` is true, and keeps the inherited key
 * ring otherwise. Returns `undefined` if the machine has no perl for it.
 */
export function withoutInheritedState(
  command: readonly string[],
  options: { readonly first: number; readonly required: boolean },
): readonly [string, ...string[]] | undefined {
  const numbers = systemCalls[process.arch];
  if (numbers === undefined || !existsSync(perl)) return undefined;
  const argv = [...numbers, String(options.first), options.required ? 'always' : 'if-possible'];
  return [perl, '-e', perlScript, '--', ...argv, ...command];
}

const maxBytes = 64 * 1024;

/**
 * Reads a program's output to its end. The returned function returns the first 64 KiB of the output so far.
 */
export function keepHead(stream: Readable | null): () => string {
  const chunks: Buffer[] = [];
  let remaining = maxBytes;
  stream?.on('data', (chunk: Buffer) => {
    if (remaining === 0) return;
    const kept = Buffer.from(chunk.subarray(0, remaining));
    remaining -= kept.length;
    chunks.push(kept);
  });
  return () => Buffer.concat(chunks).toString();
}
