// GLOVEBOX_REQUIRE=bwrap,local names the backends that must be there: their absence fails instead of being skipped.
export const isRequired = (name: string): boolean =>
  (process.env['GLOVEBOX_REQUIRE'] ?? '').split(',').some((required) => required.trim() === name)
