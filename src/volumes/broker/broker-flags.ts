// In a file of its own, because the help shows these flags and loads no bundle.
const config = { type: 'string', value: 'FILE', help: 'Configuration of the broker' } as const;

export const brokerFlags = {
  config,
  demo: { type: 'boolean', help: 'Run in a temporary folder, with requests of its own' },
} as const;

export const migrateFlags = { config } as const;
