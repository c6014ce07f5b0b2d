import type { MonitAction, MonitProgram, MonitRate, MonitRule, MonitTest } from './monit-service.ts';

/** Prints a rule in monit's language. parseMonit reads the result as the same rule. */
export function printRule({ test, rate, action, recovery }: MonitRule): string {
  const back =
    recovery === undefined
      ? ''
      : ` else if recovered${printRate(recovery.rate)} then ${printAction(recovery.action)}`;
  return `if ${printTest(test)}${printRate(rate)} then ${printAction(action)}${back}`;
}

export function printAction(action: MonitAction): string {
  return action.kind === 'exec' ? `exec ${printProgram(action.program)}` : action.kind;
}

/** Prints a program with its user and group, without its timeout. */
export function printProgram({ arguments: args, user, group }: MonitProgram): string {
  const as = user === undefined ? '' : ` as uid ${printText(user)}`;
  const and = group === undefined ? '' : ` gid ${printText(group)}`;
  return `"${args.map(printArgument).join(' ')}"${as}${and}`;
}

/** Prints a text in the kind of quotes that it does not contain. */
export function printText(text: string): string {
  return text.includes('"') ? `'${text}'` : `"${text}"`;
}

// An argument with a single quote was a bare word in the monit file, so it needs no quotes.
function printArgument(argument: string): string {
  return /[ \t\r\n]/.test(argument) || argument === '' ? `'${argument}'` : argument;
}

function printRate({ count, cycles }: MonitRate): string {
  if (count === cycles) return count === 1 ? '' : ` for ${count} cycles`;
  return ` ${count} times within ${cycles} cycles`;
}

function printTest(test: MonitTest): string {
  switch (test.kind) {
    case 'nonexistent':
      return 'does not exist';
    case 'changed':
      return `changed ${test.what}`;
    case 'resource':
      return `${test.resource} ${test.operator} ${test.limit}${test.unit === '' ? '' : ` ${test.unit}`}`;
    case 'connection': {
      const { target, request, timeoutSeconds } = test;
      const to =
        'path' in target
          ? `unixsocket ${printText(target.path)}`
          : `host ${printText(target.host)} port ${target.port}`;
      const http = request === undefined ? '' : ` protocol http request ${printText(request)}`;
      return `failed ${to}${http} with timeout ${timeoutSeconds} seconds`;
    }
  }
}
