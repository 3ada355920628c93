// Opens the page again, at the same place, once the server answers.

const RETRY_DELAY_MS = 3_000;

setInterval(() => fetch("/api/v1/about").then(({ status }) => status < 500 && location.reload(), () => {}), RETRY_DELAY_MS);
