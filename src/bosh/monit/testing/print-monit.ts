import type { MonitProgram, MonitService, MonitSubject } from '../monit-service.ts';
import { printAction, printProgram, printRule, printText } from '../print-rule.ts';

/** Prints services as a monit file. parseMonit reads the result as the same services. */
export function printMonit(services: readonly MonitService[]): string {
  return services.map(printService).join('\n');
}

function printService(service: MonitService): string {
  const { start, stop, mode, every, groups, dependsOn, rules, restartLimits } = service;
  const lines = [
    printSubject(service.name, service.subject),
    ...(start === undefined ? [] : [`start program = ${withTimeout(start)}`]),
    ...(stop === undefined ? [] : [`stop program = ${withTimeout(stop)}`]),
    `mode ${mode}`,
    ...(every === 1 ? [] : [`every ${every} cycles`]),
    ...groups.map((group) => `group ${printText(group)}`),
    ...(dependsOn.length === 0 ? [] : [`depends on ${dependsOn.map(printText).join(', ')}`]),
    ...rules.map(printRule),
    ...restartLimits.map(
      ({ restarts, cycles, action }) =>
        `if ${restarts} restarts within ${cycles} cycles then ${printAction(action)}`,
    ),
  ];
  return lines.join('\n  ');
}

function printSubject(name: string, subject: MonitSubject): string {
  const quoted = printText(name);
  switch (subject.kind) {
    case 'pidfile':
      return `check process ${quoted} with pidfile ${printText(subject.path)}`;
    case 'matching':
      return `check process ${quoted} matching ${printText(subject.pattern)}`;
    case 'file':
      return `check file ${quoted} with path ${printText(subject.path)}`;
    case 'host':
      return `check host ${quoted} with address ${printText(subject.address)}`;
  }
}

const withTimeout = (program: MonitProgram): string =>
  `${printProgram(program)} with timeout ${program.timeoutSeconds} seconds`;
