/** The object that templates see as `spec`, and the properties (bosh-cli: templatescompiler/job_evaluation_context.go). */
export interface TemplateContext {
  readonly index: number;
  readonly id: string;
  readonly az: string;
  readonly bootstrap: boolean;
  /** `name` is the release job. */
  readonly job: { readonly name: string };
  readonly deployment: string;
  readonly address?: string;
  readonly networks: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly global_properties: Readonly<Record<string, unknown>>;
  readonly cluster_properties: Readonly<Record<string, unknown>>;
  /** Null: global and cluster properties count. */
  readonly job_properties: Readonly<Record<string, unknown>> | null;
  /** By dotted name; null for a property without default. */
  readonly default_properties: Readonly<Record<string, unknown>>;
  readonly [other: string]: unknown;
}

export interface TemplateToRender {
  /** Shown in errors: `<job>/templates/<file>`. */
  readonly name: string;
  /** ERB text. */
  readonly template: string;
  readonly context: TemplateContext;
  /** Where the manifest has the properties that it reads, for errors. */
  readonly propertiesAt?: string | undefined;
}

/** Renders ERB with Ruby. */
export interface TemplateRenderer {
  /** Which Ruby it is, for a log line. */
  readonly engine: 'ruby' | 'ruby.wasm';
  /** Loads the engine; without it the first render does. */
  start(): Promise<void>;
  /** Begins to load the engine and goes on with other work. A failure shows in the first render. */
  preload(): void;
  /**
   * Results in the order of the batch. TEMPLATE_INVALID names each template that failed, its job and line; nothing is
   * returned then.
   */
  render(batch: readonly TemplateToRender[]): Promise<readonly string[]>;
  close(): Promise<void>;
}
