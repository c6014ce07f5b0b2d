/** What one test of the suite came to. */
export interface TestResult {
  readonly name: string;
  readonly state: 'passed' | 'failed' | 'skipped';
  readonly seconds: number;
  /** Of a failure or a skip: its first line. */
  readonly reason: string;
}

/** The parts of a Ginkgo report (onsi/ginkgo types.Report) that are read here. */
interface SpecReport {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly State: string;
  readonly RunTime: number;
  readonly Failure?: { readonly Message?: string };
}

/** Every spec of a Ginkgo JSON report that was not left out by a filter. */
export function parseReport(text: string): TestResult[] {
  const suites = JSON.parse(text) as readonly { readonly SpecReports: readonly SpecReport[] | null }[];
  return suites
    .flatMap(({ SpecReports }) => SpecReports ?? [])
    .filter(({ LeafNodeType, State, Failure }) => {
      if (LeafNodeType === 'It') return State !== 'skipped' || (Failure?.Message ?? '') !== '';
      return State !== 'passed' && LeafNodeType !== 'ReportAfterSuite';
    })
    .map(resultOf);
}

function resultOf(spec: SpecReport): TestResult {
  const words = [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText];
  return {
    name: spec.LeafNodeType === 'It' ? words.join(' ') : `[${spec.LeafNodeType}]`,
    state: spec.State === 'passed' ? 'passed' : spec.State === 'skipped' ? 'skipped' : 'failed',
    seconds: spec.RunTime / 1e9,
    reason: (spec.Failure?.Message ?? spec.State).trim().slice(0, 2000),
  };
}

/** The names of the specs that a dry run would run. */
export function parseNames(text: string): string[] {
  return parseReport(text)
    .filter(({ name, state }) => state === 'passed' && !/^\[\w+\]$/.test(name))
    .map(({ name }) => name);
}
