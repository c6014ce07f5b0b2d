import { existsSync } from 'node:fs';

const perl = '/usr/bin/perl';

/** keyctl(2) and close(2) by processor. Neither a shell nor util-linux nor Node can call the first, or close what it inherited. */
const systemCalls: Readonly<Record<string, readonly [string, string]>> = {
  x64: ['250', '3'],
  arm64: ['219', '57'],
};

/**
 * Arguments: numbers of keyctl and close, the first descriptor to close, `always` where the key ring must be left, the command.
 * Error 38 (ENOSYS) and 1 (EPERM, of a container engine's filter): what runs here can use no keys.
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
 * The command that becomes this one with a session key ring of its own and without the descriptors from `first` on: a process
 * inherits both, through every namespace. `required`: it does not start where it would keep the key ring; else it
 * may, when its user has as many key rings as the kernel allows. `undefined` where the machine has no perl for it.
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
