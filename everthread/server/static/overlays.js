// Dialogs, and the transcript view that takes the chat's place. Loaded lazily.

export { findAllowedBank, openBanks } from "./banks.js";
export { importCards, isCard, openGallery, refuseCards } from "./characters.js";
export { askChoice, askForget, askKey, confirmForget, editText, showReceipt } from "./dialogs.js";
export { alsoForgets, changeEach, CORRECTING, forgetCopies } from "./groupcopies.js";
export { editParticipants } from "./groupforms.js";
export { openKeys } from "./keys.js";
export { openSessionOptions } from "./sessionoptions.js";
export { editScene } from "./characterforms.js";
export { openModels } from "./modelpicker.js";
export { openSettings } from "./settings.js";
export { askSignIn } from "./signin.js";
export { TranscriptView } from "./transcript.js";
